//go:build cgo

package bindings

/*
#include "norm/norm.h"

// Package norm defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_f32_softmax
#pragma weak nacre_f32_layer_norm

static inline void softmax(nacre_fn kernel, nacre_team *team, const float *x, size_t outer, size_t n, size_t inner, bool log, float *out) {
    nacre_f32_softmax((nacre_f32_softmax_fn *)kernel, team, x, outer, n, inner, log, out);
}

static inline void layer_norm(nacre_fn kernel, nacre_team *team, const float *x, size_t rows, size_t n, const float *scale, const float *bias,
                              float epsilon, bool centred, float *out) {
    nacre_f32_layer_norm(((nacre_f32_norm_fn *)kernel)(), team, x, rows, n, scale, bias, epsilon, centred, out);
}

#cgo noescape softmax
#cgo nocallback softmax
#cgo noescape layer_norm
#cgo nocallback layer_norm
*/
import "C"

// SoftmaxF32 computes softmax, or its logarithm, along the middle axis of x of
// shape [outer,n,inner], n > 0, with a kernel of op f32_softmax. Out may be x.
func SoftmaxF32(k Kernel, p *Pool, x []float32, outer, n, inner int, log bool, out []float32) {
	C.softmax(k.fn(), p.ptr(), f32(x), C.size_t(outer), C.size_t(n), C.size_t(inner), C.bool(log), f32(out))
}

// LayerNormF32 normalises each row of x[rows,n] and applies scale[n] and
// bias[n], which may be nil; without centring rows are divided by their root
// mean square. The kernel is of op f32_layer_norm. Out may be x.
func LayerNormF32(k Kernel, p *Pool, x []float32, rows, n int, scale, bias []float32, epsilon float32, centred bool, out []float32) {
	C.layer_norm(k.fn(), p.ptr(), f32(x), C.size_t(rows), C.size_t(n), f32(scale), f32(bias), C.float(epsilon), C.bool(centred), f32(out))
}
