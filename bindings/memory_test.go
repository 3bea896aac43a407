package bindings

import (
	"unsafe"
)

// guarded returns n bytes that start `skip` bytes after a multiple of 64, and a
// function that reports a write around them.
func guarded(n, skip int) (b []byte, intact func() bool) {
	all := make([]byte, n+skip+2*64)
	all = all[-uintptr(unsafe.Pointer(&all[0]))%64:]
	for i := range all {
		all[i] = 0xa5
	}
	b = all[skip : skip+n : skip+n]
	return b, func() bool {
		for i, v := range all {
			if (i < skip || i >= skip+n) && v != 0xa5 {
				return false
			}
		}
		return true
	}
}
