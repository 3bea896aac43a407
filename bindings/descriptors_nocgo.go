//go:build !cgo

package bindings

// ClosedAtStart reports false, since nothing runs before Go's runtime without cgo.
func ClosedAtStart(int) bool { return false }
