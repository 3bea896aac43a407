//go:build cgo

package bindings

// #include "matmul/matmul.h"
import "C"

func matmulFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_matmul_kernels(&n), n)
}
