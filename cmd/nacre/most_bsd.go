//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"runtime"
	"syscall"
)

// mostMemory returns the most bytes that the process has had in memory so far; 0 if it is not known.
func mostMemory() int {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int(u.Maxrss) // in bytes
	}
	return int(u.Maxrss) << 10
}
