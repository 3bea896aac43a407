//go:build !unix

package onnx

import (
	"os"
	"testing"
)

// makePipe makes a folder, which is no regular file either.
func makePipe(t *testing.T, path string) {
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
}
