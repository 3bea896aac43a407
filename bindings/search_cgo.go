//go:build cgo

package bindings

/*
#include "core/kernel.h"
#include "quant/search.h"

static inline void search(nacre_fn f, size_t size, size_t tries, float low, float high, const float *table,
                          const float *x, const float *w, const float *inverse, const float *shift, float *sums) {
    ((nacre_f32_search_fn *)f)(size, tries, low, high, table, x, w, inverse, shift, sums);
}
static inline void whole(nacre_fn f, size_t size, size_t reach, float low, float high, const float *table,
                         const float *x, const float *w, const float *unit, const float *inverse, float least,
                         float most, float *numbers, float *sums) {
    ((nacre_f32_whole_fn *)f)(size, reach, low, high, table, x, w, unit, inverse, least, most, numbers, sums);
}
#cgo noescape search
#cgo noescape whole
#cgo nocallback whole
#cgo nocallback search
*/
import "C"

import "unsafe"

func search(r *row, size, tries int, low, high float32, table, x, w, inverse, shift, sums []float32) {
	C.search(r.c().fn, C.size_t(size), C.size_t(tries), C.float(low), C.float(high), floats(table), floats(x), floats(w),
		floats(inverse), floats(shift), floats(sums))
}

func wholeNumbers(r *row, size, reach int, low, high float32, table, x, w, unit, inverse []float32, least, most float32,
	whole, sums []float32) {
	C.whole(r.c().fn, C.size_t(size), C.size_t(reach), C.float(low), C.float(high), floats(table), floats(x), floats(w),
		floats(unit), floats(inverse), C.float(least), C.float(most), floats(whole), floats(sums))
}

func floats(list []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(list))) }
