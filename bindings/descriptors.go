//go:build cgo

package bindings

// unsigned nacre_closed_at_start(void);
import "C"

// ClosedAtStart reports whether the process began without descriptor 0, 1 or 2. Go's runtime has
// put /dev/null in its place, so writes to it succeed.
func ClosedAtStart(descriptor int) bool { return C.nacre_closed_at_start()>>descriptor&1 != 0 }
