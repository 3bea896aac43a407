//go:build unix

package beneath

import "syscall"

// openFlags keep the opening of a pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK
