//go:build cgo

package bindings

/*
#include "eltwise/eltwise.h"

// Package eltwise defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_eltwise_map
#pragma weak nacre_eltwise_binary
#pragma weak nacre_eltwise_where
#pragma weak nacre_eltwise_fused

// The params are Go memory, which no struct that C looks at may point to.
static inline void eltwise_fused(nacre_team *pool, nacre_fn unary, nacre_fn binary, const void *params, int first, size_t period,
                                 nacre_lane in, nacre_lane out, const void *x, const void *b, void *y, size_t n) {
    const nacre_fused f = {(nacre_unary_fn)unary, params, first, (nacre_binary_fn)binary, period, in, out};
    nacre_eltwise_fused(pool, &f, x, b, y, n);
}

#cgo noescape eltwise_fused
#cgo nocallback eltwise_fused

#cgo noescape nacre_eltwise_map
#cgo nocallback nacre_eltwise_map
#cgo noescape nacre_eltwise_binary
#cgo nocallback nacre_eltwise_binary
#cgo noescape nacre_eltwise_where
#cgo nocallback nacre_eltwise_where
*/
import "C"

import "unsafe"

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

// EltwiseFused computes y = binary(unary(x), b) for n elements if the unary comes
// first, else unary(binary(x, b)). B has period elements and starts anew after
// them; its lane is that of x.
func EltwiseFused(p *Pool, unary, binary Kernel, params *Params, unaryFirst bool, x, b, y Lane, period, n int) {
	if n == 0 || period == 0 {
		return
	}
	C.eltwise_fused(p.ptr(), unary.fn(), binary.fn(), unsafe.Pointer(params), cbool(unaryFirst), C.size_t(period), x.c(), y.c(),
		x.Data, b.Data, y.Data, C.size_t(n))
}
