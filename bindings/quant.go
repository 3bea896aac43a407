//go:build cgo

package bindings

/*
#include "quant/quant.h"

// Package quant defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_i8_gemm_packed_b
#pragma weak nacre_i8_gemm_pack_b
#pragma weak nacre_i8_lstm_scratch
#pragma weak nacre_i8_lstm_run

static inline const nacre_i8_gemm_impl *bytes_impl(nacre_fn f) { return ((nacre_i8_gemm_fn *)f)(); }
static inline const nacre_f32_quantize_impl *quantize_impl(nacre_fn f) { return ((nacre_f32_quantize_fn *)f)(); }

static inline void bytes_pack(const nacre_i8_gemm_impl *impl, size_t n, size_t k, const nacre_i8_operand *x,
                              const void *data, void *dst) {
    nacre_i8_operand operand = *x;
    operand.data = data;
    nacre_i8_gemm_pack_b(impl, n, k, &operand, dst);
}

static inline nacre_i8_lstm lstm_job(const nacre_rnn *n, const nacre_i8_lstm *o, nacre_fn gemm, nacre_fn quantize, nacre_fn cell,
                                     const int32_t *lengths) {
    nacre_i8_lstm job = *o;
    job.n = *n;
    job.n.lengths = lengths;
    job.gemm = bytes_impl(gemm);
    job.quantize = quantize_impl(quantize);
    job.cell = ((nacre_f32_rnn_cell_fn *)cell)();
    return job;
}

static inline size_t lstm_scratch(const nacre_rnn *n, const nacre_i8_lstm *o, nacre_fn gemm, nacre_fn quantize, nacre_fn cell,
                                  const int32_t *lengths, size_t threads) {
    const nacre_i8_lstm job = lstm_job(n, o, gemm, quantize, cell, lengths);
    return nacre_i8_lstm_scratch(&job, threads);
}

static inline void lstm_run(const nacre_rnn *n, const nacre_i8_lstm *o, nacre_fn gemm, nacre_fn quantize, nacre_fn cell,
                            const int32_t *lengths, nacre_team *pool, const void *w, const void *r, const int32_t *w_zero,
                            const int32_t *r_zero, const float *w_scale, const float *r_scale, const float *x, const float *bias,
                            const float *peepholes, const float *h0, const float *c0, float *y, float *y_h, float *y_c,
                            void *scratch) {
    nacre_i8_lstm job = lstm_job(n, o, gemm, quantize, cell, lengths);
    job.w.data = w;
    job.r.data = r;
    job.w_zero = w_zero;
    job.r_zero = r_zero;
    job.w_scale = w_scale;
    job.r_scale = r_scale;
    job.x = x;
    job.bias = bias;
    job.peepholes = peepholes;
    job.h0 = h0;
    job.c0 = c0;
    job.y = y;
    job.y_h = y_h;
    job.y_c = y_c;
    nacre_i8_lstm_run(&job, pool, scratch);
}

#cgo noescape bytes_pack
#cgo nocallback bytes_pack
#cgo noescape lstm_scratch
#cgo nocallback lstm_scratch
#cgo noescape lstm_run
#cgo nocallback lstm_run
*/
import "C"

import "unsafe"

func (k Kernel) bytesImpl() *C.nacre_i8_gemm_impl { return C.bytes_impl(k.fn()) }

func (o ByteOperand) c() C.nacre_i8_operand {
	return C.nacre_i8_operand{packed: cbool(o.Packed), is_signed: cbool(o.Signed), row: C.size_t(o.Row), col: C.size_t(o.Col)}
}

func int32s(s []int32) *C.int32_t { return (*C.int32_t)(unsafe.SliceData(s)) }

// PackedBytesB is the number of bytes of a packed [k,n] right operand.
func (k Kernel) PackedBytesB(n, depth int) int {
	return int(C.nacre_i8_gemm_packed_b(k.bytesImpl(), C.size_t(n), C.size_t(depth)))
}

// PackBytesB packs a [k,n] right operand for this kernel.
func (k Kernel) PackBytesB(n, depth int, o ByteOperand, b unsafe.Pointer, dst []byte) {
	x := o.c()
	C.bytes_pack(k.bytesImpl(), C.size_t(n), C.size_t(depth), &x, b, bytesAt(dst))
}

func (n *ByteLSTM) form() C.nacre_i8_lstm {
	return C.nacre_i8_lstm{w: n.WForm.c(), r: n.RForm.c(), w_step: C.size_t(n.WStep), r_step: C.size_t(n.RStep)}
}

// Scratch is the number of bytes that Run needs as scratch.
func (n *ByteLSTM) Scratch(pool *Pool) int {
	c, o := n.c(), n.form()
	return int(C.lstm_scratch(&c, &o, n.Gemm.fn(), n.Quantize.fn(), n.Cell.fn(), int32s(n.Lengths), C.size_t(pool.Threads())))
}

// Run computes Y, YH and YC. Scratch lies at a multiple of 64 bytes.
func (n *ByteLSTM) Run(pool *Pool, scratch []byte) {
	c, o := n.c(), n.form()
	C.lstm_run(&c, &o, n.Gemm.fn(), n.Quantize.fn(), n.Cell.fn(), int32s(n.Lengths), pool.ptr(), n.W, n.R, int32s(n.WZero),
		int32s(n.RZero), floats(n.WScale), floats(n.RScale), floats(n.X), floats(n.Bias), floats(n.Peepholes), floats(n.H0),
		floats(n.C0), floats(n.Y), floats(n.YH), floats(n.YC), bytesAt(scratch))
}
