//go:build cgo

package bindings

// #include "eltwise/eltwise.h"
import "C"

func eltwiseFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_eltwise_kernels(&n), n)
}
