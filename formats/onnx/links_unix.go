//go:build unix

package onnx

import (
	"errors"
	"os"
	"syscall"
)

// openFlags keep the opening of a pipe from waiting for a writer.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// linkCount is how many names an open file has.
func linkCount(_ *os.File, info os.FileInfo) (uint64, error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return uint64(st.Nlink), nil
}
