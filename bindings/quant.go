//go:build cgo

package bindings

// #include "quant/quant.h"
import "C"

func quantFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_quant_kernels(&n), n)
}
