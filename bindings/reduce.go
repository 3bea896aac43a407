//go:build cgo

package bindings

// #include "reduce/reduce.h"
import "C"

func reduceFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_reduce_kernels(&n), n)
}
