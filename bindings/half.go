//go:build cgo

package bindings

/*
#include "core/half.h"

#cgo noescape nacre_widen
#cgo nocallback nacre_widen
#cgo noescape nacre_narrow
#cgo nocallback nacre_narrow
*/
import "C"

import "unsafe"

// Widen writes to dst the values of as many elements of src, of a 16-bit type.
func Widen(pool *Pool, t FloatType, src unsafe.Pointer, dst []float32) {
	C.nacre_widen(pool.ptr(), C.nacre_float_type(t), C.size_t(len(dst)), (*C.uint16_t)(src), (*C.float)(unsafe.SliceData(dst)))
}

// Narrow rounds the elements of src to a 16-bit type, into dst.
func Narrow(pool *Pool, t FloatType, src []float32, dst unsafe.Pointer) {
	C.nacre_narrow(pool.ptr(), C.nacre_float_type(t), C.size_t(len(src)), (*C.float)(unsafe.SliceData(src)), (*C.uint16_t)(dst))
}
