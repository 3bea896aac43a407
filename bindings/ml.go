//go:build cgo

package bindings

/*
#include "ml/ml.h"

#cgo noescape nacre_f32_rbf
#cgo nocallback nacre_f32_rbf
*/
import "C"

import "unsafe"

func mlFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_ml_kernels)), C.nacre_ml_kernel_count)
}

// RBFF32 computes out[rows,n], exp(-gamma d) of the squared distances d between
// the rows of x[rows,k] and n vectors, with a kernel of op f32_rbf. V is the
// vectors transposed, [k,n] with rows padded to a multiple of MLPad.
func RBFF32(k Kernel, p *Pool, x []float32, rows, width int, v []float32, n int, gamma float32, out []float32) {
	C.nacre_f32_rbf(C.nacre_f32_rbf_fn(k.fn()), p.ptr(), f32(x), C.size_t(rows), C.size_t(width), f32(v), C.size_t(n), C.float(gamma), f32(out))
}
