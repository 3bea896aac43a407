//go:build !cgo && unix

package wazero

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reservation is addresses, with memory where it was committed.
type reservation struct{ all []byte }

func reserve(n int) (reservation, error) {
	all, err := unix.Mmap(-1, 0, n, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|lazily)
	if err != nil {
		return reservation{}, fmt.Errorf("reserving %d bytes of addresses: %w", n, err)
	}
	return reservation{all}, nil
}

// Commit makes whole pages usable that contain part.
func (r *reservation) Commit(part []byte) bool {
	return unix.Mprotect(r.pages(part), unix.PROT_READ|unix.PROT_WRITE) == nil
}

// Release gives memory of whole pages within part back.
func (r *reservation) Release(part []byte) {
	from, to := r.within(part)
	if from < to {
		_ = unix.Madvise(r.all[from:to], unwanted)
	}
}

func (r *reservation) end() { _ = unix.Munmap(r.all) }
