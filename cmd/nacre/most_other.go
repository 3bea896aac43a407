//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package main

// mostMemory returns 0: the most memory of the process is not known.
func mostMemory() int { return 0 }
