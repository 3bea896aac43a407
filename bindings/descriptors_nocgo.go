//go:build !cgo

package bindings

// ClosedAtStart returns false: without cgo, nothing runs before Go's runtime.
func ClosedAtStart(int) bool { return false }
