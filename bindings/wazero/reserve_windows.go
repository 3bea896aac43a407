//go:build !cgo

package wazero

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// reservation is addresses, with memory where it was committed.
type reservation struct{ all []byte }

func reserve(n int) (reservation, error) {
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return reservation{}, fmt.Errorf("reserving %d bytes of addresses: %w", n, err)
	}
	return reservation{unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)}, nil
}

// Commit makes whole pages usable that contain part.
func (r *reservation) Commit(part []byte) bool {
	b := r.pages(part)
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err == nil
}

// Release keeps the memory: pages that are no longer committed would not come back by themselves.
func (r *reservation) Release([]byte) {}

func (r *reservation) end() {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(&r.all[0])), 0, windows.MEM_RELEASE)
}
