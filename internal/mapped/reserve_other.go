//go:build !linux

package mapped

// CanForget reports whether pages can be released.
const CanForget = false

// Reserve returns n bytes.
func Reserve(n int) ([]byte, error) { return make([]byte, n), nil }

// Forget does nothing.
func Forget([]byte) {}

// Unreserve does nothing.
func Unreserve([]byte) {}
