//go:build unix

package beneath

import "syscall"

// openFlags make the opening of a pipe not wait for a writer.
const openFlags = syscall.O_NONBLOCK
