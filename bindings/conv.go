//go:build cgo

package bindings

/*
#include "conv/conv.h"

static inline nacre_f32_conv conv_job(const nacre_conv *c, nacre_fn gemm, nacre_fn columns, nacre_fn taps, int packed,
                                      nacre_float_type type) {
    nacre_f32_conv j = {.c = *c, .packed = packed, .type = type};
    j.gemm = ((nacre_f32_gemm_fn *)gemm)();
    j.im2col = (nacre_f32_im2col_fn *)columns;
    if (taps != NULL) j.taps = ((nacre_f32_taps_fn *)taps)();
    return j;
}

static inline size_t conv_scratch(const nacre_conv *c, nacre_fn gemm, nacre_fn columns, nacre_fn taps, int packed, nacre_float_type type,
                                  size_t threads) {
    const nacre_f32_conv j = conv_job(c, gemm, columns, taps, packed, type);
    return nacre_f32_conv_scratch(&j, threads);
}

static inline void conv_run(const nacre_conv *c, nacre_fn gemm, nacre_fn columns, nacre_fn taps, int packed, nacre_float_type type,
                            nacre_f32_finish *finish, const float *add, const void *params, nacre_team *pool, const void *x,
                            const void *w, const float *bias, void *y, float *scratch) {
    nacre_f32_conv j = conv_job(c, gemm, columns, taps, packed, type);
    j.finish = *finish;
    j.finish.add = add;
    j.finish.params = params;
    j.x = x;
    j.w = w;
    j.bias = bias;
    j.y = y;
    nacre_f32_conv_run(&j, pool, scratch);
}

static inline size_t conv_packed(const nacre_conv *c, nacre_fn gemm) {
    return nacre_f32_conv_packed(c, ((nacre_f32_gemm_fn *)gemm)());
}

static inline void conv_pack(const nacre_conv *c, nacre_fn gemm, nacre_float_type type, const void *w, void *dst) {
    nacre_f32_conv_pack(c, ((nacre_f32_gemm_fn *)gemm)(), type, w, dst);
}

static inline size_t spread_scratch(const nacre_conv *c, nacre_fn gemm, int packed, size_t threads) {
    const nacre_f32_conv j = conv_job(c, gemm, NULL, NULL, packed, NACRE_FLOAT32);
    return nacre_f32_conv_transpose_scratch(&j, threads);
}

static inline void spread_run(const nacre_conv *c, nacre_fn gemm, int packed, nacre_team *pool, const float *x, const float *w,
                              const float *bias, float *y, float *scratch) {
    nacre_f32_conv j = conv_job(c, gemm, NULL, NULL, packed, NACRE_FLOAT32);
    j.x = x;
    j.w = w;
    j.bias = bias;
    j.y = y;
    nacre_f32_conv_transpose_run(&j, pool, scratch);
}

static inline size_t spread_packed(const nacre_conv *c, nacre_fn gemm) {
    return nacre_f32_conv_transpose_packed(c, ((nacre_f32_gemm_fn *)gemm)());
}

static inline void spread_pack(const nacre_conv *c, nacre_fn gemm, const float *w, float *dst) {
    nacre_f32_conv_transpose_pack(c, ((nacre_f32_gemm_fn *)gemm)(), w, dst);
}

static inline void plain_run(nacre_fn f, const nacre_conv *c, nacre_team *pool, const void *x, const void *w, const void *bias,
                             void *y) {
    ((nacre_conv_fn *)f)(c, pool, x, w, bias, y);
}

static inline void columns_run(nacre_fn f, const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n,
                               size_t nr, float *dst) {
    ((nacre_f32_im2col_fn *)f)(c, x, k0, k, j0, n, nr, dst);
}

#cgo noescape columns_run
#cgo nocallback columns_run
#cgo noescape conv_scratch
#cgo nocallback conv_scratch
#cgo noescape conv_run
#cgo nocallback conv_run
#cgo noescape conv_packed
#cgo nocallback conv_packed
#cgo noescape conv_pack
#cgo nocallback conv_pack
#cgo noescape spread_scratch
#cgo nocallback spread_scratch
#cgo noescape spread_run
#cgo nocallback spread_run
#cgo noescape spread_packed
#cgo nocallback spread_packed
#cgo noescape spread_pack
#cgo nocallback spread_pack
#cgo noescape plain_run
#cgo nocallback plain_run
#cgo noescape nacre_conv_by_taps
#cgo nocallback nacre_conv_by_taps
*/
import "C"

import "unsafe"

// The list of axes is as long on both sides.
var _ = [1]struct{}{}[ConvAxes-C.NACRE_CONV_AXES]

func convFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_conv_kernels(&n), n)
}

func (k Kernel) fnOrNil() C.nacre_fn {
	if k.row == nil {
		return nil
	}
	return k.row.fn
}

func (s *ConvShape) c() C.nacre_conv {
	c := C.nacre_conv{
		images: C.size_t(s.Images), groups: C.size_t(s.Groups),
		channels: C.size_t(s.Channels), filters: C.size_t(s.Filters),
		axes: C.size_t(len(s.Kernel)),
	}
	fill := func(dst *[ConvAxes]C.size_t, list []int) {
		for i, v := range list {
			dst[i] = C.size_t(v)
		}
	}
	fill(&c.in, s.In)
	fill(&c.out, s.Out)
	fill(&c.kernel, s.Kernel)
	fill(&c.stride, s.Stride)
	fill(&c.dilation, s.Dilation)
	fill(&c.pad, s.Pad)
	return c
}

// ByTaps reports whether weights should not be packed, because the convolution
// goes by taps. It depends on Channels and Kernel only.
func (s *ConvShape) ByTaps() bool {
	c := s.c()
	return C.nacre_conv_by_taps(&c) != 0
}

// PackedWeights is the number of elements of packed weights.
func (v *Conv) PackedWeights() int {
	c := v.ConvShape.c()
	return int(C.conv_packed(&c, v.Gemm.fn()))
}

// Pack packs weights [Groups*Filters, Channels, Kernel...]; dst gets elements of
// Type.
func (v *Conv) Pack(w unsafe.Pointer, dst []byte) {
	c := v.ConvShape.c()
	C.conv_pack(&c, v.Gemm.fn(), C.nacre_float_type(v.Type), w, unsafe.Pointer(unsafe.SliceData(dst)))
}

// Scratch is the number of float32 elements that Run needs as scratch.
func (v *Conv) Scratch(pool *Pool) int {
	c := v.ConvShape.c()
	return int(C.conv_scratch(&c, v.Gemm.fn(), v.Columns.fnOrNil(), v.Taps.fnOrNil(), cbool(v.Packed), C.nacre_float_type(v.Type),
		C.size_t(pool.Threads())))
}

// Run computes y. Bias is one number per filter, or nil. Scratch lies at a
// multiple of 64 bytes.
func (v *Conv) Run(pool *Pool, x, w unsafe.Pointer, bias []float32, y unsafe.Pointer, scratch []float32) {
	c, finish := v.ConvShape.c(), v.Finish.c()
	C.conv_run(&c, v.Gemm.fn(), v.Columns.fnOrNil(), v.Taps.fnOrNil(), cbool(v.Packed), C.nacre_float_type(v.Type), &finish,
		floats(v.Add), unsafe.Pointer(v.Params), pool.ptr(), x, w, floats(bias), y, floats(scratch))
}

// PackedWeights is the number of float32 elements of packed weights.
func (v *ConvTranspose) PackedWeights() int {
	c := v.ConvShape.c()
	return int(C.spread_packed(&c, v.Gemm.fn()))
}

// Pack packs weights [Groups*Channels, Filters, Kernel...].
func (v *ConvTranspose) Pack(w, dst []float32) {
	c := v.ConvShape.c()
	C.spread_pack(&c, v.Gemm.fn(), floats(w), floats(dst))
}

// Scratch is the number of float32 elements that Run needs as scratch.
func (v *ConvTranspose) Scratch(pool *Pool) int {
	c := v.ConvShape.c()
	return int(C.spread_scratch(&c, v.Gemm.fn(), cbool(v.Packed), C.size_t(pool.Threads())))
}

// Run computes y. Bias is one number per filter, or nil. Scratch lies at a
// multiple of 64 bytes.
func (v *ConvTranspose) Run(pool *Pool, x, w, bias, y, scratch []float32) {
	c := v.ConvShape.c()
	C.spread_run(&c, v.Gemm.fn(), cbool(v.Packed), pool.ptr(), floats(x), floats(w), floats(bias), floats(y), floats(scratch))
}

// PlainConv runs a kernel of op f32_conv, f64_conv, f32_conv_transpose or
// f64_conv_transpose, on operands of its element type. Bias is nil for none.
func PlainConv(k Kernel, s *ConvShape, pool *Pool, x, w, bias, y unsafe.Pointer) {
	c := s.c()
	C.plain_run(k.fn(), &c, pool.ptr(), x, w, bias, y)
}

// Columns runs a kernel of op f32_im2col: rows k0..k0+k-1 of columns j0..j0+n-1
// of one group's x, as panels of nr columns.
func Columns(kernel Kernel, s *ConvShape, x []float32, k0, k, j0, n, nr int, dst []float32) {
	c := s.c()
	C.columns_run(kernel.fn(), &c, floats(x), C.size_t(k0), C.size_t(k), C.size_t(j0), C.size_t(n), C.size_t(nr), floats(dst))
}
