// The oracle of f64_gemm.
#include "matmul/f64_finish.h"
#include "matmul/f64_gemm.h"

enum { SCALAR_MR = 4, SCALAR_NR = 8, SCALAR_BLOCK_B = 128 << 10 };

static void tile_scalar(size_t k, const double *a, size_t a_row, size_t a_col, const double *b, size_t b_row, double *c,
                        size_t ldc, size_t m, size_t n, const nacre_f64_epilogue *e) {
    double sum[SCALAR_MR][SCALAR_NR] = {{0}};
    for (size_t p = 0; p < k; p++) {
        for (size_t i = 0; i < SCALAR_MR; i++) {
            for (size_t j = 0; j < SCALAR_NR; j++) sum[i][j] += a[i * a_row + p * a_col] * b[p * b_row + j];
        }
    }
    for (size_t i = 0; i < m; i++) f64_finish_row(e, i, n, sum[i], c + i * ldc);
}

static void dot_scalar(size_t k, const double *x, const double *b, size_t ldb, double *y, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t p = 0; p < k; p++) sum += x[p] * b[j * ldb + p];
        y[j] = sum;
    }
}

static void axpy_scalar(size_t k, const double *x, size_t incx, const double *b, size_t ldb, double *y, size_t n) {
    for (size_t p = 0; p < k; p++) {
        NACRE_SIMD for (size_t j = 0; j < n; j++) y[j] += x[p * incx] * b[p * ldb + j];
    }
}

#define ROW(function, path)                                                                                            \
    const nacre_f64_gemm_impl *function(void) {                                                                        \
        static const nacre_f64_gemm_impl impl = {SCALAR_MR,  SCALAR_NR,   SCALAR_MR,   0, SCALAR_BLOCK_B,              \
                                                 tile_scalar, dot_scalar, axpy_scalar, &nacre_f64_path_##path};        \
        return &impl;                                                                                                  \
    }

ROW(nacre_f64_gemm__scalar, tiles)
ROW(nacre_f64_gemv_dot__scalar, dot)
ROW(nacre_f64_gemv_axpy__scalar, axpy)
