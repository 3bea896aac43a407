//go:build cgo

package bindings

/*
#include "eltwise/eltwise.h"

#cgo noescape nacre_eltwise_map
#cgo nocallback nacre_eltwise_map
#cgo noescape nacre_eltwise_binary
#cgo nocallback nacre_eltwise_binary
#cgo noescape nacre_eltwise_where
#cgo nocallback nacre_eltwise_where
*/
import "C"

import "unsafe"

func eltwiseFamily() []Kernel {
	var count C.size_t
	return family(C.nacre_eltwise_kernels(&count), count)
}

func (l Lane) c() C.nacre_lane {
	lane := C.nacre_lane{bytes: C.size_t(l.Bytes)}
	if l.Via.Valid() {
		lane.via = C.nacre_convert_fn(unsafe.Pointer(l.Via.fn()))
	}
	return lane
}

// EltwiseMap computes y = k(x) for n elements; with the zero Kernel it only
// converts.
func EltwiseMap(p *Pool, k Kernel, x, y Lane, n int, params *Params) {
	if n == 0 {
		return
	}
	var fn C.nacre_unary_fn
	if k.Valid() {
		fn = C.nacre_unary_fn(unsafe.Pointer(k.fn()))
	}
	C.nacre_eltwise_map(p.ptr(), fn, x.Data, x.c(), y.Data, y.c(), C.size_t(n), unsafe.Pointer(params))
}

// EltwiseBinary computes y = k(a, b) with broadcasting. Dims holds as many
// extents of y, of a and of b, one after the other; those of a and b are equal
// to that of y or 1. No extent is 0.
func EltwiseBinary(p *Pool, k Kernel, a, b, y Lane, dims []int) {
	C.nacre_eltwise_binary(p.ptr(), C.nacre_binary_fn(unsafe.Pointer(k.fn())), a.Data, a.c(), b.Data, b.c(), y.Data, y.c(),
		(*C.size_t)(unsafe.Pointer(unsafe.SliceData(dims))), C.size_t(len(dims)/3))
}

// EltwiseWhere computes y = cond ? a : b with broadcasting, for elements of as
// many bytes as the kernel's name says. Dims is as for EltwiseBinary, with the
// extents of cond after those of y.
func EltwiseWhere(p *Pool, k Kernel, cond, a, b, y Lane, dims []int) {
	C.nacre_eltwise_where(p.ptr(), C.nacre_where_fn(unsafe.Pointer(k.fn())), (*C.uint8_t)(cond.Data), a.Data, b.Data, y.Data,
		C.size_t(y.Bytes), (*C.size_t)(unsafe.Pointer(unsafe.SliceData(dims))), C.size_t(len(dims)/4))
}
