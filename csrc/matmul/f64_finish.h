// The epilogue of f64_gemm, but for map.
#ifndef NACRE_MATMUL_F64_FINISH_H
#define NACRE_MATMUL_F64_FINISH_H

#include <math.h>

#include "core/simd.h"
#include "core/vec.h"
#include "matmul/f64_gemm.h"

// nacre_none for doubles.
static const double f64_none[16] __attribute__((unused)) = {
    -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0,
};

// Writes row i of n elements of c from its sums. add may be c.
NACRE_INLINE void f64_finish_row(const nacre_f64_epilogue *e, size_t i, size_t n, const double *sums, double *c) {
    const double alpha = e->alpha, row = e->row == NULL ? -0.0 : e->row[i];
    const double low = e->clamp ? e->low : -INFINITY, high = e->clamp ? e->high : INFINITY;
    const double *const add = e->add == NULL ? NULL : e->add + i * e->ld_add, *const col = e->col;
    NACRE_SIMD for (size_t j = 0; j < n; j++) {
        double v = sums[j] * alpha;
        if (add != NULL) v += add[j];
        v += row;
        if (col != NULL) v += col[j];
        v = v < low ? low : v;
        c[j] = v > high ? high : v;
    }
}

#endif
