//go:build cgo

package bindings

/*
#include "nbits/nbits.h"

// Go memory may not hold pointers to Go memory that C looks at, so the pointers
// of a product come as arguments and meet its sizes here.
static inline size_t nbits_scratch(const nacre_nbits_gemm *g, nacre_fn nbits, nacre_fn gemm, nacre_fn rounded, const int32_t *group, size_t threads) {
    nacre_nbits_gemm job = *g;
    job.impl = ((nacre_f32_nbits_fn *)nbits)();
    job.gemm = ((nacre_f32_gemm_fn *)gemm)();
    job.rounded = rounded == NULL ? NULL : ((nacre_i8_nbits_fn *)rounded)();
    job.w.group = group;
    return nacre_nbits_gemm_scratch(&job, threads);
}

static inline void nbits_run(const nacre_nbits_gemm *g, nacre_fn nbits, nacre_fn gemm, nacre_fn rounded, nacre_team *pool,
                             const void *codes, const void *scales, const void *zeros, const float *table, const int32_t *group, const float *a,
                             const float *bias, float *c, float *scratch) {
    nacre_nbits_gemm job = *g;
    job.impl = ((nacre_f32_nbits_fn *)nbits)();
    job.gemm = ((nacre_f32_gemm_fn *)gemm)();
    job.rounded = rounded == NULL ? NULL : ((nacre_i8_nbits_fn *)rounded)();
    job.w.codes = codes;
    job.w.scales = scales;
    job.w.zeros = zeros;
    job.w.table = table;
    job.w.group = group;
    job.a = a;
    job.bias = bias;
    job.c = c;
    nacre_nbits_gemm_run(&job, pool, scratch);
}

#cgo noescape nbits_scratch
#cgo nocallback nbits_scratch
#cgo noescape nbits_run
#cgo nocallback nbits_run
*/
import "C"

import "unsafe"

func nbitsFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_nbits_kernels(&n), n)
}

func (g *NBitsGemm) c() C.nacre_nbits_gemm {
	return C.nacre_nbits_gemm{
		w: C.nacre_nbits{
			n: C.size_t(g.N), k: C.size_t(g.K), bits: C.size_t(g.Bits), block: C.size_t(g.Block),
			high_first: cbool(g.HighFirst), row_bytes: C.size_t(g.RowBytes),
			_type: C.nacre_float_type(g.Type), row_scales: C.size_t(g.RowScales),
			from: C.nacre_nbits_zeros(g.Zeros), flat: cbool(g.Flat),
		},
		turned: cbool(g.Turned),
		m:      C.size_t(g.M),
	}
}

func (g *NBitsGemm) rounded() C.nacre_fn {
	if !g.Rounded.Valid() {
		return nil
	}
	return g.Rounded.fn()
}

// Scratch is the number of float32 elements that Run needs as scratch.
func (g *NBitsGemm) Scratch(pool *Pool) int {
	c := g.c()
	return int(C.nbits_scratch(&c, g.Kernel.fn(), g.Gemm.fn(), g.rounded(), int32s(g.Group), C.size_t(pool.Threads())))
}

// Run computes c. Zeros are not looked at unless Zeros says so; table, bias and
// Group are nil for none. Scratch lies at a multiple of 64 bytes.
func (g *NBitsGemm) Run(pool *Pool, codes, scales, zeros unsafe.Pointer, table, a, bias, c, scratch []float32) {
	job := g.c()
	C.nbits_run(&job, g.Kernel.fn(), g.Gemm.fn(), g.rounded(), pool.ptr(), codes, scales, zeros, floats(table), int32s(g.Group), floats(a), floats(bias),
		floats(c), floats(scratch))
}
