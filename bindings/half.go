//go:build cgo

package bindings

// #include "half/half.h"
import "C"

func halfFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_half_kernels(&n), n)
}
