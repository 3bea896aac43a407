//go:build !linux

package mapped

// release does nothing: only Linux drops the pages of a private mapping at once.
func release([]byte) {}
