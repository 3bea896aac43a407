//go:build !cgo && unix && !linux

package wazero

import "golang.org/x/sys/unix"

const (
	lazily   = 0
	unwanted = unix.MADV_FREE
)
