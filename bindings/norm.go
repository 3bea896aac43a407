//go:build cgo

package bindings

/*
#include "norm/norm.h"

static inline void skip_norm(nacre_fn add, nacre_fn moments, nacre_fn affine, nacre_team *pool, const float *x, const float *skip, const float *bias,
                             size_t rows, size_t n, size_t skip_rows, const float *scale, const float *beta, float epsilon, bool centred,
                             float *sum, float *out, float *mean, float *inv_std) {
    const nacre_skip_norm s = {x, skip, bias, scale, beta, rows, n, skip_rows, epsilon, centred, sum, out, mean, inv_std};
    nacre_f32_skip_norm((nacre_binary_fn)add, (nacre_f32_moments_fn)moments, (nacre_f32_affine_each_fn)affine, pool, &s);
}

#cgo noescape skip_norm
#cgo nocallback skip_norm

#cgo noescape nacre_f32_softmax
#cgo nocallback nacre_f32_softmax
#cgo noescape nacre_f32_layer_norm
#cgo nocallback nacre_f32_layer_norm
#cgo noescape nacre_f32_group_norm
#cgo nocallback nacre_f32_group_norm
#cgo noescape nacre_f32_channel_affine
#cgo nocallback nacre_f32_channel_affine
#cgo noescape nacre_f32_row_affine
#cgo nocallback nacre_f32_row_affine
#cgo noescape nacre_f32_lrn
#cgo nocallback nacre_f32_lrn
*/
import "C"

import "unsafe"

func normFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_norm_kernels)), C.nacre_norm_kernel_count)
}

// SoftmaxF32 computes softmax, or its logarithm, along the middle axis of x of
// shape [outer,n,inner], n > 0, with a kernel of op f32_softmax. Out may be x.
func SoftmaxF32(k Kernel, p *Pool, x []float32, outer, n, inner int, log bool, out []float32) {
	C.nacre_f32_softmax(C.nacre_f32_softmax_fn(k.fn()), p.ptr(), f32(x), C.size_t(outer), C.size_t(n), C.size_t(inner), C.bool(log), f32(out))
}

// LayerNormF32 normalises each row of x[rows,n] and applies scale[n] and
// bias[n], which may be nil; without centring rows are divided by their root
// mean square. Mean and invStd take a number per row where they are not nil.
// The kernels are of ops f32_moments and f32_affine_each. Out may be x.
func LayerNormF32(moments, affine Kernel, p *Pool, x []float32, rows, n int, scale, bias []float32, epsilon float32, centred bool, out, mean, invStd []float32) {
	C.nacre_f32_layer_norm(C.nacre_f32_moments_fn(moments.fn()), C.nacre_f32_affine_each_fn(affine.fn()), p.ptr(), f32(x), C.size_t(rows),
		C.size_t(n), f32(scale), f32(bias), C.float(epsilon), C.bool(centred), f32(out), f32(mean), f32(invStd))
}

// GroupNormF32 normalises x[batch,channels,inner] over each of groups runs of
// neighbouring channels and applies scale and bias per channel. The kernels are
// of ops f32_moments and f32_affine. Out may be x.
func GroupNormF32(moments, affine Kernel, p *Pool, x []float32, batch, channels, groups, inner int, scale, bias []float32, epsilon float32, out []float32) {
	C.nacre_f32_group_norm(C.nacre_f32_moments_fn(moments.fn()), C.nacre_f32_affine_fn(affine.fn()), p.ptr(), f32(x), C.size_t(batch),
		C.size_t(channels), C.size_t(groups), C.size_t(inner), f32(scale), f32(bias), C.float(epsilon), f32(out))
}

// ChannelAffineF32 computes out = (x - sub[c]) * mul[c] + add[c] on
// x[batch,channels,inner] with a kernel of op f32_affine. Out may be x.
func ChannelAffineF32(k Kernel, p *Pool, x []float32, batch, channels, inner int, sub, mul, add, out []float32) {
	C.nacre_f32_channel_affine(C.nacre_f32_affine_fn(k.fn()), p.ptr(), f32(x), C.size_t(batch), C.size_t(channels), C.size_t(inner),
		f32(sub), f32(mul), f32(add), f32(out))
}

// RowAffineF32 computes out = x * mul[c] + add[c] on x[rows,channels] with a
// kernel of op f32_affine_each. Out may be x.
func RowAffineF32(k Kernel, p *Pool, x []float32, rows, channels int, mul, add, out []float32) {
	C.nacre_f32_row_affine(C.nacre_f32_affine_each_fn(k.fn()), p.ptr(), f32(x), C.size_t(rows), C.size_t(channels), f32(mul), f32(add), f32(out))
}

// LRNF32 computes x / (bias + alpha * sum of x^2)^beta on x[batch,channels,inner],
// the sum being over size neighbouring channels, with a kernel of op f32_lrn.
// Out is not x.
func LRNF32(k Kernel, p *Pool, x []float32, batch, channels, inner, size int, alpha, beta, bias float32, out []float32) {
	params := C.nacre_lrn_params{size: C.size_t(size), alpha: C.float(alpha), beta: C.float(beta), bias: C.float(bias)}
	C.nacre_f32_lrn(C.nacre_f32_lrn_fn(k.fn()), p.ptr(), f32(x), C.size_t(batch), C.size_t(channels), C.size_t(inner), &params, f32(out))
}

// SkipNormF32 computes sum = x + skip + bias on rows of n, where skip starts anew
// after its rows and bias may be nil, and then LayerNormF32 of sum with scale and
// beta. Sum may be out, which then is left without it, and either may be x. The
// first kernel is of op f32_add.
func SkipNormF32(add, moments, affine Kernel, p *Pool, x, skip, bias []float32, rows, n int, scale, beta []float32, epsilon float32, centred bool, sum, out, mean, invStd []float32) {
	C.skip_norm(add.fn(), moments.fn(), affine.fn(), p.ptr(), f32(x), f32(skip), f32(bias), C.size_t(rows), C.size_t(n), C.size_t(len(skip)/n),
		f32(scale), f32(beta), C.float(epsilon), C.bool(centred), f32(sum), f32(out), f32(mean), f32(invStd))
}
