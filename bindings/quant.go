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

static inline size_t dynamic_scratch(const nacre_i8_gemm *g, const size_t *axes, size_t n, size_t threads) {
    nacre_i8_gemm job = *g;
    job.batch.axes = axes;
    return nacre_i8_gemm_dynamic_scratch(&job, n, threads);
}

static inline void dynamic_run(const nacre_i8_gemm *g, nacre_fn quantize, nacre_team *pool, const size_t *axes, size_t n,
                               const float *x, const void *b, const int32_t *b_zero, const float *col_scale, const float *add,
                               void *c, void *scratch) {
    const nacre_i8_gemm job = bytes_job(g, axes, NULL, b, NULL, b_zero, NULL, col_scale, NULL, add, c);
    nacre_i8_gemm_dynamic_run(&job, quantize_impl(quantize), pool, n, x, scratch);
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

static inline void quantize_run(nacre_fn f, nacre_team *pool, const nacre_quant_grid *grid, const nacre_quant_codes *t, const float *x,
                                const float *scale, const int32_t *zero, void *y) {
    nacre_quantize(quantize_impl(f), pool, grid, t, x, scale, zero, y);
}

static inline void dequantize_run(nacre_fn f, nacre_team *pool, const nacre_quant_grid *grid, nacre_quant_type type, const void *x,
                                  const float *scale, const int32_t *zero, float *y) {
    nacre_dequantize(quantize_impl(f), pool, grid, type, x, scale, zero, y);
}

static inline void quantize_dynamic_run(nacre_fn f, nacre_team *pool, size_t n, const float *x, void *y, float *scale, void *zero,
                                        float *scratch) {
    nacre_quantize_dynamic(quantize_impl(f), pool, n, x, y, scale, zero, scratch);
}

static inline void pairs_run(nacre_fn f, nacre_team *pool, const nacre_quant_pair *p, size_t rank, const size_t *axes, const void *a,
                             const void *b, void *c) {
    nacre_quant_pairs(quantize_impl(f), pool, p, rank, axes, a, b, c);
}

static inline void lookup_run(nacre_fn f, nacre_team *pool, size_t rows, size_t n, size_t x_row, size_t y_row, const void *x,
                              const void *table, void *y) {
    nacre_i8_lookup((nacre_i8_lookup_fn *)f, pool, rows, n, x_row, y_row, x, table, y);
}

static inline void softmax_run(nacre_fn lookup, nacre_team *pool, size_t outer, size_t n, size_t inner, const float *weights,
                               int is_signed, float ratio, int32_t zero, const void *x, void *y) {
    const nacre_i8_softmax s = {weights, is_signed, ratio, zero};
    nacre_i8_softmax_run((nacre_i8_lookup_fn *)lookup, &s, pool, outer, n, inner, x, y);
}

#cgo noescape bytes_scratch
#cgo nocallback bytes_scratch
#cgo noescape bytes_run
#cgo nocallback bytes_run
#cgo noescape dynamic_scratch
#cgo nocallback dynamic_scratch
#cgo noescape dynamic_run
#cgo nocallback dynamic_run
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
#cgo noescape quantize_run
#cgo nocallback quantize_run
#cgo noescape dequantize_run
#cgo nocallback dequantize_run
#cgo noescape quantize_dynamic_run
#cgo nocallback quantize_dynamic_run
#cgo noescape pairs_run
#cgo nocallback pairs_run
#cgo noescape lookup_run
#cgo nocallback lookup_run
#cgo noescape softmax_run
#cgo nocallback softmax_run
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

// DynamicScratch is the number of bytes that RunDynamic needs as scratch for a
// left operand of n elements.
func (g *ByteGemm) DynamicScratch(pool *Pool, n int) int {
	c := g.c()
	return int(C.dynamic_scratch(&c, sizes(g.Batch), C.size_t(n), C.size_t(pool.Threads())))
}

// RunDynamic computes c for a left operand of floats that it quantises as a
// whole, to codes without sign; v has neither AZero, RowScale nor Bias.
func (g *ByteGemm) RunDynamic(quantize Kernel, pool *Pool, a []float32, b unsafe.Pointer, v *ByteVectors, c unsafe.Pointer, scratch []byte) {
	job := g.c()
	C.dynamic_run(&job, quantize.fn(), pool.ptr(), sizes(g.Batch), C.size_t(len(a)), floats(a), b, int32s(v.BZero), floats(v.ColScale),
		floats(v.Add), c, bytesAt(scratch))
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

func (g *QuantGrid) c() C.nacre_quant_grid {
	return C.nacre_quant_grid{
		outer: C.size_t(g.Outer), axis: C.size_t(g.Axis), inner: C.size_t(g.Inner), block: C.size_t(g.Block),
		per_outer: C.size_t(g.PerOuter), per_axis: C.size_t(g.PerAxis), per_inner: C.size_t(g.PerInner),
	}
}

// Quantize writes codes for x, with a kernel of op f32_quantize.
func Quantize(k Kernel, pool *Pool, g *QuantGrid, t *QuantCodes, x, scale []float32, zero []int32, y unsafe.Pointer) {
	grid := g.c()
	codes := C.nacre_quant_codes{_type: C.nacre_quant_type(t.Type), low: C.int32_t(t.Low), high: C.int32_t(t.High),
		precision: C.nacre_float_type(t.Precision)}
	C.quantize_run(k.fn(), pool.ptr(), &grid, &codes, floats(x), floats(scale), int32s(zero), y)
}

// Dequantize writes what codes stand for, with a kernel of op f32_quantize.
func Dequantize(k Kernel, pool *Pool, g *QuantGrid, t QuantType, x unsafe.Pointer, scale []float32, zero []int32, y []float32) {
	grid := g.c()
	C.dequantize_run(k.fn(), pool.ptr(), &grid, C.nacre_quant_type(t), x, floats(scale), int32s(zero), floats(y))
}

// QuantizeDynamic writes codes without sign for x, with a kernel of op
// f32_quantize, and returns their scale and zero point. Scratch has two numbers
// for each thread of the pool.
func QuantizeDynamic(k Kernel, pool *Pool, x []float32, y []byte, scratch []float32) (scale float32, zero uint8) {
	C.quantize_dynamic_run(k.fn(), pool.ptr(), C.size_t(len(x)), floats(x), bytesAt(y), (*C.float)(&scale), unsafe.Pointer(&zero), floats(scratch))
	return scale, zero
}

// QuantPairs computes pairs with broadcasting, with a kernel of op f32_quantize:
// axes is at least one extent, outermost first, then as many strides of a, then
// of b, the innermost of which are 0 or 1.
func QuantPairs(k Kernel, pool *Pool, p *QuantPair, axes []int, a, b, c unsafe.Pointer) {
	job := C.nacre_quant_pair{
		is_signed: cbool(p.Signed), product: cbool(p.Product),
		a_zero: C.int32_t(p.AZero), b_zero: C.int32_t(p.BZero), c_zero: C.int32_t(p.CZero),
		a_ratio: C.float(p.ARatio), b_ratio: C.float(p.BRatio),
	}
	C.pairs_run(k.fn(), pool.ptr(), &job, C.size_t(len(axes)/3), sizes(axes), a, b, c)
}

// QuantLookup sets y[i] = table[x[i]] in rows of n codes, xRow and yRow apart, with a
// kernel of op i8_lookup; y may be x.
func QuantLookup(k Kernel, pool *Pool, rows, n, xRow, yRow int, x unsafe.Pointer, table *[256]byte, y unsafe.Pointer) {
	C.lookup_run(k.fn(), pool.ptr(), C.size_t(rows), C.size_t(n), C.size_t(xRow), C.size_t(yRow), x, unsafe.Pointer(table), y)
}

// Run computes y of x, values [outer,n,inner], with a kernel of op i8_lookup; y may
// be x.
func (s *QuantSoftmax) Run(lookup Kernel, pool *Pool, signed bool, outer, n, inner int, x, y unsafe.Pointer) {
	C.softmax_run(lookup.fn(), pool.ptr(), C.size_t(outer), C.size_t(n), C.size_t(inner), (*C.float)(&s.Weights[0]), cbool(signed),
		C.float(s.Ratio), C.int32_t(s.Zero), x, y)
}
