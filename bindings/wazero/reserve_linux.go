//go:build !cgo

package wazero

import "golang.org/x/sys/unix"

const (
	lazily   = unix.MAP_NORESERVE
	unwanted = unix.MADV_DONTNEED
)
