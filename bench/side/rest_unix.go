//go:build unix

package side

import (
	"os"
	"syscall"
)

// rest stops the threads of a process, or lets them go on. Threads that look for work after an
// answer would share their processors with the other side.
func rest(p *os.Process, stop bool) error {
	if stop {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
