//go:build cgo

package bindings

// #include "nbits/nbits.h"
import "C"

func nbitsFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_nbits_kernels(&n), n)
}
