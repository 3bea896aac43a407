//go:build cgo

package bindings

/*
#include "quant/quant.h"

static inline const nacre_i8_gemm_impl *bytes_impl(nacre_fn f) { return ((nacre_i8_gemm_fn *)f)(); }
static inline const nacre_f32_quantize_impl *quantize_impl(nacre_fn f) { return ((nacre_f32_quantize_fn *)f)(); }

// Go memory may not hold pointers to Go memory that C looks at, so the pointers
// of a product come as arguments and meet its sizes here.
static inline nacre_i8_gemm bytes_job(const nacre_i8_gemm *g, const size_t *axes, const void *a, const void *b, const int32_t *a_zero,
                                      const int32_t *b_zero, const float *row_scale, const float *col_scale, const int32_t *bias,
                                      const float *add, void *c) {
    nacre_i8_gemm job = *g;
    job.batch.axes = axes;
    job.a.data = a;
    job.b.data = b;
    job.a_zero = a_zero;
    job.b_zero = b_zero;
    job.row_scale = row_scale;
    job.col_scale = col_scale;
    job.bias = bias;
    job.add = add;
    job.c = c;
    return job;
}

static inline size_t bytes_scratch(const nacre_i8_gemm *g, const size_t *axes, size_t threads) {
    nacre_i8_gemm job = *g;
    job.batch.axes = axes;
    return nacre_i8_gemm_scratch(&job, threads);
}

static inline void bytes_run(const nacre_i8_gemm *g, nacre_team *pool, const size_t *axes, const void *a, const void *b,
                             const int32_t *a_zero, const int32_t *b_zero, const float *row_scale, const float *col_scale,
                             const int32_t *bias, const float *add, void *c, void *scratch) {
    const nacre_i8_gemm job = bytes_job(g, axes, a, b, a_zero, b_zero, row_scale, col_scale, bias, add, c);
    nacre_i8_gemm_run(&job, pool, scratch);
}

static inline void bytes_pack(int right, const nacre_i8_gemm_impl *impl, size_t lanes, size_t k, const nacre_i8_operand *x,
                              const void *data, void *dst) {
    nacre_i8_operand operand = *x;
    operand.data = data;
    (right ? nacre_i8_gemm_pack_b : nacre_i8_gemm_pack_a)(impl, lanes, k, &operand, dst);
}

static inline size_t bytes_conv_scratch(const nacre_conv *c, const nacre_i8_gemm *g, nacre_fn taps, size_t threads) {
    const nacre_i8_conv job = {.c = *c, .g = *g, .depthwise = ((nacre_f32_depthwise_fn *)taps)()};
    return nacre_i8_conv_scratch(&job, threads);
}

static inline void bytes_conv_run(const nacre_conv *c, const nacre_i8_gemm *g, nacre_fn taps, int x_signed, int32_t x_zero, nacre_team *pool,
                                  const void *x, const void *w, const int32_t *a_zero, const int32_t *b_zero, const float *row_scale,
                                  const float *col_scale, const int32_t *bias, void *y, void *scratch) {
    const nacre_i8_conv job = {
        .c = *c,
        .g = bytes_job(g, NULL, w, NULL, a_zero, b_zero, row_scale, col_scale, bias, NULL, y),
        .depthwise = ((nacre_f32_depthwise_fn *)taps)(),
        .x = x,
        .x_signed = x_signed,
        .x_zero = x_zero,
    };
    nacre_i8_conv_run(&job, pool, scratch);
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

#cgo noescape bytes_scratch
#cgo nocallback bytes_scratch
#cgo noescape bytes_run
#cgo nocallback bytes_run
#cgo noescape bytes_pack
#cgo nocallback bytes_pack
#cgo noescape bytes_conv_scratch
#cgo nocallback bytes_conv_scratch
#cgo noescape bytes_conv_run
#cgo nocallback bytes_conv_run
#cgo noescape nacre_i8_conv_unpacked
#cgo nocallback nacre_i8_conv_unpacked
#cgo noescape nacre_i8_conv_packed
#cgo nocallback nacre_i8_conv_packed
#cgo noescape lstm_scratch
#cgo nocallback lstm_scratch
#cgo noescape lstm_run
#cgo nocallback lstm_run
*/
import "C"

import "unsafe"

func quantFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_quant_kernels(&n), n)
}

// BytesUnpacked reports whether the weights of a ByteConv should not be packed. It
// depends on Filters, Channels and Kernel only.
func (s *ConvShape) BytesUnpacked() bool {
	c := s.c()
	return C.nacre_i8_conv_unpacked(&c) != 0
}

func (k Kernel) bytesImpl() *C.nacre_i8_gemm_impl { return C.bytes_impl(k.fn()) }

func (o ByteOperand) c() C.nacre_i8_operand {
	return C.nacre_i8_operand{packed: cbool(o.Packed), is_signed: cbool(o.Signed), row: C.size_t(o.Row), col: C.size_t(o.Col)}
}

func (g *ByteGemm) c() C.nacre_i8_gemm {
	return C.nacre_i8_gemm{
		impl: g.Kernel.bytesImpl(),
		m:    C.size_t(g.M), n: C.size_t(g.N), k: C.size_t(g.K),
		a: g.A.c(), b: g.B.c(),
		batch:     C.nacre_batch{rank: C.size_t(len(g.Batch) / 3)},
		row_count: C.size_t(g.Rows), col_count: C.size_t(g.Cols),
		bias_row: C.size_t(g.BiasRow), bias_col: C.size_t(g.BiasCol),
		_type: C.nacre_quant_type(g.Type),
		zero:  C.int32_t(g.Zero),
	}
}

func int32s(s []int32) *C.int32_t { return (*C.int32_t)(unsafe.SliceData(s)) }

// Scratch is the number of bytes that Run needs as scratch.
func (g *ByteGemm) Scratch(pool *Pool) int {
	c := g.c()
	return int(C.bytes_scratch(&c, sizes(g.Batch), C.size_t(pool.Threads())))
}

// Run computes c. Scratch lies at a multiple of 64 bytes.
func (g *ByteGemm) Run(pool *Pool, a, b unsafe.Pointer, v *ByteVectors, c unsafe.Pointer, scratch []byte) {
	job := g.c()
	C.bytes_run(&job, pool.ptr(), sizes(g.Batch), a, b, int32s(v.AZero), int32s(v.BZero), floats(v.RowScale), floats(v.ColScale),
		int32s(v.Bias), floats(v.Add), c, bytesAt(scratch))
}

// PackedBytesA is the number of bytes of a packed [m,k] left operand.
func (k Kernel) PackedBytesA(m, depth int) int {
	return int(C.nacre_i8_gemm_packed_a(k.bytesImpl(), C.size_t(m), C.size_t(depth)))
}

// PackedBytesB is the number of bytes of a packed [k,n] right operand.
func (k Kernel) PackedBytesB(n, depth int) int {
	return int(C.nacre_i8_gemm_packed_b(k.bytesImpl(), C.size_t(n), C.size_t(depth)))
}

// PackBytesA packs an [m,k] left operand for this kernel.
func (k Kernel) PackBytesA(m, depth int, o ByteOperand, a unsafe.Pointer, dst []byte) {
	x := o.c()
	C.bytes_pack(0, k.bytesImpl(), C.size_t(m), C.size_t(depth), &x, a, bytesAt(dst))
}

// PackBytesB packs a [k,n] right operand for this kernel.
func (k Kernel) PackBytesB(n, depth int, o ByteOperand, b unsafe.Pointer, dst []byte) {
	x := o.c()
	C.bytes_pack(1, k.bytesImpl(), C.size_t(n), C.size_t(depth), &x, b, bytesAt(dst))
}

// Scratch is the number of bytes that Run needs as scratch.
func (v *ByteConv) Scratch(pool *Pool) int {
	c, g := v.ConvShape.c(), v.Gemm.c()
	return int(C.bytes_conv_scratch(&c, &g, v.Taps.fn(), C.size_t(pool.Threads())))
}

// PackedWeights is the number of bytes of packed weights.
func (v *ByteConv) PackedWeights() int {
	c := v.ConvShape.c()
	return int(C.nacre_i8_conv_packed(&c, v.Gemm.Kernel.bytesImpl()))
}

// Pack packs weights for Run.
func (v *ByteConv) Pack(w unsafe.Pointer, dst []byte) {
	c := v.ConvShape.c()
	C.nacre_i8_conv_pack(&c, v.Gemm.Kernel.bytesImpl(), cbool(v.Gemm.A.Signed), (*C.uint8_t)(w), (*C.uint8_t)(bytesAt(dst)))
}

// Run computes y.
func (v *ByteConv) Run(pool *Pool, x, w unsafe.Pointer, vectors *ByteVectors, y unsafe.Pointer, scratch []byte) {
	c, g := v.ConvShape.c(), v.Gemm.c()
	C.bytes_conv_run(&c, &g, v.Taps.fn(), cbool(v.XSigned), C.int32_t(v.XZero), pool.ptr(), x, w, int32s(vectors.AZero), int32s(vectors.BZero),
		floats(vectors.RowScale), floats(vectors.ColScale), int32s(vectors.Bias), y, bytesAt(scratch))
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
