// The oracle of f32_gemm.
#include "core/simd.h"
#include "half/half_scalar.h"
#include "matmul/matmul.h"

enum { SCALAR_MR = 4, SCALAR_NR = 8, SCALAR_PLAIN_ROWS = 256, SCALAR_BLOCK_B = 128 << 10 };

static float finish_scalar(float sum, size_t i, size_t j, const nacre_f32_epilogue *e) {
    if (e == NULL) return sum;
    float v = sum * e->alpha;
    if (e->add != NULL) v += e->add[i * e->ld_add + j];
    if (e->row != NULL) v += e->row[i];
    if (e->col != NULL) v += e->col[j];
    if (e->clamp) {
        if (v < e->low) v = e->low;
        if (v > e->high) v = e->high;
    }
    return v;
}

static void strided_scalar(size_t k, const float *a, size_t a_row, size_t a_col, const float *b, size_t b_row, float *c,
                           size_t ldc, size_t m, size_t n, const nacre_f32_epilogue *e) {
    float sum[SCALAR_MR][SCALAR_NR] = {{0}};
    for (size_t p = 0; p < k; p++) {
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < SCALAR_NR; j++) sum[i][j] += a[i * a_row + p * a_col] * b[p * b_row + j];
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) c[i * ldc + j] = finish_scalar(sum[i][j], i, j, e);
    }
}

static void tile_scalar(size_t k, const float *a, size_t lda, const float *b, float *c, size_t ldc, size_t m, size_t n,
                        const nacre_f32_epilogue *e) {
    strided_scalar(k, a, 1, lda, b, SCALAR_NR, c, ldc, m, n, e);
}

static float number_scalar(nacre_dtype type, const void *x, size_t at) {
    if (type == NACRE_DTYPE_f16) return nacre_f16_to_f32(((const uint16_t *)x)[at]);
    if (type == NACRE_DTYPE_bf16) return nacre_bf16_to_f32(((const uint16_t *)x)[at]);
    return ((const float *)x)[at];
}

static void row_scalar(nacre_dtype type, size_t count, size_t k, const float *a, size_t lda, const void *const *b,
                       float *const *c, size_t n, const nacre_f32_epilogue *e) {
    for (size_t q = 0; q < count; q++) {
        for (size_t j = 0; j < n; j++) {
            float sum = 0;
            for (size_t p = 0; p < k; p++) sum += a[p * lda] * number_scalar(type, b[q], p * SCALAR_NR + j);
            c[q][j] = finish_scalar(sum, 0, j, &e[q]);
        }
    }
}

static void dot_scalar(size_t k, const float *x, const float *b, size_t ldb, float *y, size_t n) {
    for (size_t j = 0; j < n; j++) {
        float sum = 0;
        for (size_t p = 0; p < k; p++) sum += x[p] * b[j * ldb + p];
        y[j] = sum;
    }
}

static void axpy_scalar(size_t k, const float *x, size_t incx, const float *b, size_t ldb, float *y, size_t n) {
    for (size_t p = 0; p < k; p++) {
        NACRE_SIMD for (size_t j = 0; j < n; j++) y[j] += x[p * incx] * b[p * ldb + j];
    }
}

#define ROW(function, path)                                                                                            \
    const nacre_f32_gemm_impl *function(void) {                                                                        \
        static const nacre_f32_gemm_impl impl = {                                                                      \
            SCALAR_MR, SCALAR_NR, SCALAR_PLAIN_ROWS, 0, 0, SCALAR_BLOCK_B, tile_scalar, strided_scalar, row_scalar,    \
            dot_scalar, axpy_scalar, nacre_half__scalar, &nacre_f32_gemm_drivers, &nacre_f32_path_##path, NULL};       \
        return &impl;                                                                                                  \
    }

ROW(nacre_f32_gemm__scalar, tiles)
ROW(nacre_f32_gemv_dot__scalar, dot)
ROW(nacre_f32_gemv_axpy__scalar, axpy)
