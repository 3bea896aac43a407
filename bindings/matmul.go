//go:build cgo

package bindings

/*
#include "matmul/matmul.h"

// Package matmul defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_f32_gemm_scratch
#pragma weak nacre_f32_gemm_run
#pragma weak nacre_f32_gemm_packed_a
#pragma weak nacre_f32_gemm_packed_b
#pragma weak nacre_f32_gemm_pack_a
#pragma weak nacre_f32_gemm_pack_b

static inline const nacre_f32_gemm_impl *gemm_impl(nacre_fn f) { return ((nacre_f32_gemm_fn *)f)(); }

// Go memory may not hold pointers to Go memory that C looks at, so the pointers
// of a product come as arguments and meet its sizes here.
static inline size_t gemm_scratch(nacre_fn f, nacre_f32_gemm *g, const size_t *axes, size_t threads) {
    nacre_f32_gemm job = *g;
    job.impl = gemm_impl(f);
    job.batch.axes = axes;
    return nacre_f32_gemm_scratch(&job, threads);
}

static inline void gemm_run(nacre_fn f, nacre_f32_gemm *g, nacre_team *pool, const size_t *axes, const void *a, const void *b,
                            const float *row, const float *col, const float *add, const void *params, void *c,
                            float *scratch) {
    nacre_f32_gemm job = *g;
    job.impl = gemm_impl(f);
    job.batch.axes = axes;
    job.a.data = a;
    job.b.data = b;
    job.row = row;
    job.col = col;
    job.finish.add = add;
    job.finish.params = params;
    job.c = c;
    nacre_f32_gemm_run(&job, pool, scratch);
}

static inline void gemm_pack(int right, const nacre_f32_gemm_impl *impl, size_t lanes, size_t k, nacre_f32_operand *x,
                             const void *data, void *dst) {
    nacre_f32_operand operand = *x;
    operand.data = data;
    (right ? nacre_f32_gemm_pack_b : nacre_f32_gemm_pack_a)(impl, lanes, k, &operand, dst);
}

static inline void wide_run(nacre_fn f, nacre_wide_gemm *g, nacre_team *pool, const size_t *axes, const void *a,
                            const void *b, void *c, void *scratch) {
    nacre_wide_gemm job = *g;
    job.batch.axes = axes;
    ((nacre_wide_gemm_fn *)f)(&job, pool, a, b, c, scratch);
}

#cgo noescape gemm_scratch
#cgo nocallback gemm_scratch
#cgo noescape gemm_run
#cgo nocallback gemm_run
#cgo noescape gemm_pack
#cgo nocallback gemm_pack
#cgo noescape wide_run
#cgo nocallback wide_run
*/
import "C"

import "unsafe"

func (k Kernel) gemmImpl() *C.nacre_f32_gemm_impl { return C.gemm_impl(k.fn()) }

func (o Operand) c() C.nacre_f32_operand {
	return C.nacre_f32_operand{packed: cbool(o.Packed), _type: C.nacre_float_type(o.Type), row: C.size_t(o.Row), col: C.size_t(o.Col)}
}

func cbool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// sizes is a slice of counts as C sees it; an int is as wide as a size_t.
func sizes(list []int) *C.size_t { return (*C.size_t)(unsafe.Pointer(unsafe.SliceData(list))) }

func (g *Gemm) c() C.nacre_f32_gemm {
	return C.nacre_f32_gemm{
		m: C.size_t(g.M), n: C.size_t(g.N), k: C.size_t(g.K),
		a: g.A.c(), b: g.B.c(),
		batch:     C.nacre_batch{rank: C.size_t(len(g.Batch) / 3)},
		alpha:     C.float(g.Alpha),
		finish:    g.Finish.c(),
		row_count: 1,
		c_type:    C.nacre_float_type(g.C),
		ldc:       C.size_t(g.LDC),
	}
}

// Scratch is the number of float32 elements that Run needs as scratch.
func (g *Gemm) Scratch(pool *Pool) int {
	c := g.c()
	return int(C.gemm_scratch(g.Kernel.fn(), &c, sizes(g.Batch), C.size_t(pool.Threads())))
}

// Run computes c, of type C. Row and col are nil for none. Scratch lies at a
// multiple of 64 bytes.
func (g *Gemm) Run(pool *Pool, a, b unsafe.Pointer, row, col []float32, c unsafe.Pointer, scratch []float32) {
	job := g.c()
	C.gemm_run(g.Kernel.fn(), &job, pool.ptr(), sizes(g.Batch), a, b, floats(row), floats(col), floats(g.Add), unsafe.Pointer(g.Params), c, floats(scratch))
}

// c is f without what lies in Go's memory.
func (f *Finish) c() C.nacre_f32_finish {
	return C.nacre_f32_finish{clamp: cbool(f.Clamp), low: C.float(f.Low), high: C.float(f.High), _map: (*[0]byte)(unsafe.Pointer(f.Map.fnOrNil()))}
}

func floats(s []float32) *C.float { return (*C.float)(unsafe.SliceData(s)) }

// PackedA is the number of elements of a packed [m,k] left operand.
func (k Kernel) PackedA(m, depth int) int {
	return int(C.nacre_f32_gemm_packed_a(k.gemmImpl(), C.size_t(m), C.size_t(depth)))
}

// PackedB is the number of elements of a packed [k,n] right operand.
func (k Kernel) PackedB(n, depth int) int {
	return int(C.nacre_f32_gemm_packed_b(k.gemmImpl(), C.size_t(n), C.size_t(depth)))
}

// PackA packs an [m,k] left operand for this kernel; dst gets elements of its
// type.
func (k Kernel) PackA(m, depth int, o Operand, a unsafe.Pointer, dst []byte) {
	x := o.c()
	C.gemm_pack(0, k.gemmImpl(), C.size_t(m), C.size_t(depth), &x, a, unsafe.Pointer(unsafe.SliceData(dst)))
}

// PackB packs a [k,n] right operand for this kernel; dst gets elements of its
// type.
func (k Kernel) PackB(n, depth int, o Operand, b unsafe.Pointer, dst []byte) {
	x := o.c()
	C.gemm_pack(1, k.gemmImpl(), C.size_t(n), C.size_t(depth), &x, b, unsafe.Pointer(unsafe.SliceData(dst)))
}

// Scratch is the number of elements that Run needs as scratch.
func (g *WideGemm) Scratch(pool *Pool) int { return C.NACRE_WIDE_SCRATCH * pool.Threads() }

// Run computes c.
func (g *WideGemm) Run(pool *Pool, a, b, c, scratch unsafe.Pointer) {
	job := C.nacre_wide_gemm{
		m: C.size_t(g.M), n: C.size_t(g.N), k: C.size_t(g.K),
		a_row: C.size_t(g.ARow), a_col: C.size_t(g.ACol), b_row: C.size_t(g.BRow), b_col: C.size_t(g.BCol),
		ldc:   C.size_t(g.LDC),
		batch: C.nacre_batch{rank: C.size_t(len(g.Batch) / 3)},
	}
	C.wide_run(g.Kernel.fn(), &job, pool.ptr(), sizes(g.Batch), a, b, c, scratch)
}
