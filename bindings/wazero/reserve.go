//go:build !cgo && (unix || windows)

package wazero

import (
	"os"
	"unsafe"
)

// pages returns the whole pages of the system that contain part.
func (r *reservation) pages(part []byte) []byte {
	size, from := os.Getpagesize(), r.offset(part)
	return r.all[from&^(size-1) : min((from+len(part)+size-1)&^(size-1), len(r.all))]
}

// within returns where the whole pages of the system within part begin and end.
func (r *reservation) within(part []byte) (from, to int) {
	size, at := os.Getpagesize(), r.offset(part)
	return (at + size - 1) &^ (size - 1), (at + len(part)) &^ (size - 1)
}

func (r *reservation) offset(part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(r.all))))
}
