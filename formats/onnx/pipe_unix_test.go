//go:build unix

package onnx

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, path string) {
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
}
