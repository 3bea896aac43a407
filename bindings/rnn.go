//go:build cgo

package bindings

/*
#include "rnn/rnn.h"

// Go memory may not hold pointers to Go memory that C looks at, so the pointers
// come as arguments and meet the sizes here.
static inline size_t f32_rnn_scratch(nacre_rnn *n, nacre_fn gemm, nacre_float_type type, const int32_t *lengths,
                                     size_t threads) {
    nacre_rnn job = *n;
    job.lengths = lengths;
    nacre_f32_rnn operands = {.gemm = ((nacre_f32_gemm_fn *)gemm)(), .x_type = type};
    return nacre_f32_rnn_scratch(&job, &operands, threads);
}

static inline void f32_rnn_run(nacre_rnn *n, nacre_fn gemm, nacre_fn cell, nacre_float_type type, nacre_team *pool,
                               const int32_t *lengths, const void *x, const float *w, const float *r, const float *bias,
                               const float *peepholes, const float *h0, const float *c0, float *y, float *y_h, float *y_c,
                               float *scratch) {
    nacre_rnn job = *n;
    job.lengths = lengths;
    nacre_f32_rnn operands = {((nacre_f32_gemm_fn *)gemm)(), ((nacre_f32_rnn_cell_fn *)cell)(), type, x, w, r, bias, peepholes,
                              h0, c0, y, y_h, y_c};
    nacre_f32_rnn_run(&job, &operands, pool, scratch);
}

static inline void f64_rnn_run(nacre_rnn *n, nacre_team *pool, const int32_t *lengths, const double *x, const double *w,
                               const double *r, const double *bias, const double *peepholes, const double *h0,
                               const double *c0, double *y, double *y_h, double *y_c, double *scratch) {
    nacre_rnn job = *n;
    job.lengths = lengths;
    nacre_f64_rnn operands = {x, w, r, bias, peepholes, h0, c0, y, y_h, y_c};
    nacre_f64_rnn_run(&job, &operands, pool, scratch);
}

#cgo noescape f32_rnn_scratch
#cgo nocallback f32_rnn_scratch
#cgo noescape f32_rnn_run
#cgo nocallback f32_rnn_run
#cgo noescape f64_rnn_run
#cgo nocallback f64_rnn_run
#cgo noescape nacre_f64_rnn_scratch
#cgo nocallback nacre_f64_rnn_scratch
*/
import "C"

import "unsafe"

func rnnFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_rnn_kernels(&n), n)
}

func (n *RNN) c() C.nacre_rnn {
	c := C.nacre_rnn{
		gates: C.size_t(n.Gates), steps: C.size_t(n.Steps), batch: C.size_t(n.Batch), input: C.size_t(n.Input),
		hidden: C.size_t(n.Hidden), directions: C.size_t(n.Directions),
		reverse: C.bool(n.Reverse), batch_first: C.bool(n.BatchFirst), linear: C.bool(n.Linear),
	}
	for d := range n.Cells {
		cell := &n.Cells[d]
		c.cells[d].clip, c.cells[d].input_forget = C.float(cell.Clip), C.bool(cell.InputForget)
		for i, f := range cell.Functions {
			c.cells[d].f[i] = C.nacre_rnn_function{kind: C.nacre_rnn_activation(f.Kind), a: C.float(f.A), b: C.float(f.B)}
		}
	}
	return c
}

func doubles(s []float64) *C.double { return (*C.double)(unsafe.SliceData(s)) }

// Scratch is the number of float32 elements that Run needs as scratch.
func (n *RNNF32) Scratch(pool *Pool) int {
	c := n.c()
	return int(C.f32_rnn_scratch(&c, n.Gemm.fn(), C.nacre_float_type(n.XType), int32s(n.Lengths), C.size_t(pool.Threads())))
}

// Run computes Y, YH and YC. Scratch lies at a multiple of 64 bytes.
func (n *RNNF32) Run(pool *Pool, scratch []float32) {
	c := n.c()
	C.f32_rnn_run(&c, n.Gemm.fn(), n.Cell.fn(), C.nacre_float_type(n.XType), pool.ptr(), int32s(n.Lengths), n.X, floats(n.W), floats(n.R),
		floats(n.Bias), floats(n.Peepholes), floats(n.H0), floats(n.C0), floats(n.Y), floats(n.YH), floats(n.YC), floats(scratch))
}

// Scratch is the number of float64 elements that Run needs as scratch.
func (n *RNNF64) Scratch(pool *Pool) int {
	c := n.c()
	return int(C.nacre_f64_rnn_scratch(&c, C.size_t(pool.Threads())))
}

// Run computes Y, YH and YC.
func (n *RNNF64) Run(pool *Pool, scratch []float64) {
	c := n.c()
	C.f64_rnn_run(&c, pool.ptr(), int32s(n.Lengths), doubles(n.X), doubles(n.W), doubles(n.R), doubles(n.Bias), doubles(n.Peepholes),
		doubles(n.H0), doubles(n.C0), doubles(n.Y), doubles(n.YH), doubles(n.YC), doubles(scratch))
}
