//go:build cgo

package bindings

/*
#include "reduce/reduce.h"

#cgo noescape nacre_f32_reduce
#cgo nocallback nacre_f32_reduce
*/
import "C"

import "unsafe"

func reduceFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_reduce_kernels)), C.nacre_reduce_kernel_count)
}

// ReduceF32 computes out[o,i] = scale * (op over k of x[o,k,i]) on a contiguous x
// of shape [outer,n,inner], n > 0, with a kernel of op f32_reduce.
func ReduceF32(k Kernel, p *Pool, x []float32, outer, n, inner int, op Reduction, scale float64, out []float32) {
	C.nacre_f32_reduce(C.nacre_f32_reduce_fn(k.fn()), p.ptr(), f32(x), C.size_t(outer), C.size_t(n), C.size_t(inner),
		C.nacre_reduce_op(op), C.double(scale), f32(out))
}
