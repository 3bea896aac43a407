package main

import (
	"bytes"
	"os"
	"strconv"
)

// mostMemory returns the most bytes that the process has had in memory so far; 0 if it is not known.
func mostMemory() int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "VmHWM:" {
			n, _ := strconv.Atoi(string(f[1])) // in kB
			return n << 10
		}
	}
	return 0
}
