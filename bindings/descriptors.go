//go:build cgo

package bindings

// unsigned nacre_closed_at_start(void);
import "C"

// ClosedAtStart reports whether the process started without descriptor 0, 1 or 2. Go's runtime
// opens /dev/null in its place, so that writes to it succeed.
func ClosedAtStart(descriptor int) bool { return C.nacre_closed_at_start()>>descriptor&1 != 0 }
