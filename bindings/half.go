//go:build cgo

package bindings

/*
#include "half/half.h"

// Package half defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_widen
#pragma weak nacre_narrow

static inline void half_widen(nacre_fn f, nacre_team *pool, nacre_float_type type, size_t n, const void *src, float *dst) {
    nacre_widen(((nacre_half_fn *)f)(), pool, type, n, src, dst);
}

static inline void half_narrow(nacre_fn f, nacre_team *pool, nacre_float_type type, size_t n, const float *src, void *dst) {
    nacre_narrow(((nacre_half_fn *)f)(), pool, type, n, src, dst);
}

#cgo noescape half_widen
#cgo nocallback half_widen
#cgo noescape half_narrow
#cgo nocallback half_narrow
*/
import "C"

import "unsafe"

// Widen writes to dst the values of as many elements of src, of that type. The
// kernel is of op half.
func (k Kernel) Widen(pool *Pool, t FloatType, src unsafe.Pointer, dst []float32) {
	C.half_widen(k.fn(), pool.ptr(), C.nacre_float_type(t), C.size_t(len(dst)), src, floats(dst))
}

// Narrow rounds the elements of src to that type, into dst. The kernel is of op
// half.
func (k Kernel) Narrow(pool *Pool, t FloatType, src []float32, dst unsafe.Pointer) {
	C.half_narrow(k.fn(), pool.ptr(), C.nacre_float_type(t), C.size_t(len(src)), floats(src), dst)
}
