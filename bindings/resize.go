//go:build cgo

package bindings

/*
#include "resize/resize.h"

#cgo noescape nacre_go_f32_resample
#cgo nocallback nacre_go_f32_resample
static void nacre_go_f32_resample(nacre_fn cols, nacre_fn row, nacre_team *pool, const float *x, size_t outer, size_t n, size_t inner,
                                  size_t m, size_t taps, const int32_t *start, const float *weights, float *out) {
    const nacre_resampling r = {m, taps, start, weights};
    nacre_f32_resample((nacre_f32_resample_cols_fn)cols, (nacre_f32_resample_row_fn)row, pool, x, outer, n, inner, &r, out);
}
*/
import "C"

import "unsafe"

func resizeFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_resize_kernels)), C.nacre_resize_kernel_count)
}

// ResampleF32 makes out[o,j,i] the sum over t of weights[t,j] * x[o,start[j]+t,i],
// with x of shape [outer,n,inner], out [outer,len(start),inner] and weights
// [taps,len(start)], taps > 0; every input named must exist. The kernels are of
// ops f32_resample_cols and f32_resample_row.
func ResampleF32(cols, row Kernel, p *Pool, x []float32, outer, n, inner int, start []int32, weights, out []float32) {
	if len(start) == 0 {
		return
	}
	C.nacre_go_f32_resample(cols.fn(), row.fn(), p.ptr(), f32(x), C.size_t(outer), C.size_t(n), C.size_t(inner), C.size_t(len(start)),
		C.size_t(len(weights)/len(start)), (*C.int32_t)(unsafe.Pointer(&start[0])), f32(weights), f32(out))
}
