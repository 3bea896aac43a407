//go:build !unix

package side

import "os"

// rest does nothing: threads of a process cannot be stopped here.
func rest(*os.Process, bool) error { return nil }
