// Declarations of the transpose parts.
#ifndef NACRE_COPY_TRANSPOSE_H
#define NACRE_COPY_TRANSPOSE_H

#include "core/target.h"
#include "copy/index.h"

#define NACRE_KERNEL(op, variant, isa, function, entry) nacre_transpose_fn function;
#include "copy/transposes.inc"
#undef NACRE_KERNEL

// NACRE_TRANSPOSE_BY_TILES defines function `name` over tiles of N x N elements of type T. The
// function-like TILE(src, dst, src_stride, dst_stride) transposes one tile, SCALAR the edges that
// tiles do not cover, and FEW the matrices for which nacre_few holds.
#define NACRE_TRANSPOSE_BY_TILES(name, T, N, TILE, FEW, SCALAR)                                                     \
    void name(const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride, ptrdiff_t dst_stride) {   \
        if (nacre_few(rows, cols, src_stride) || nacre_few(cols, rows, dst_stride)) {                               \
            FEW(src, dst, rows, cols, src_stride, dst_stride);                                                      \
            return;                                                                                                 \
        }                                                                                                           \
        const T *const s = src;                                                                                     \
        T *const d = dst;                                                                                           \
        const size_t full_rows = rows - rows % (N), full_cols = cols - cols % (N);                                  \
        for (size_t c = 0; c < full_cols; c += (N)) {                                                               \
            for (size_t r = 0; r < full_rows; r += (N)) {                                                           \
                TILE(s + (ptrdiff_t)r * src_stride + c, d + (ptrdiff_t)c * dst_stride + r, src_stride, dst_stride); \
            }                                                                                                       \
        }                                                                                                           \
        if (full_rows < rows) {                                                                                     \
            SCALAR(s + (ptrdiff_t)full_rows * src_stride, d + full_rows, rows - full_rows, cols, src_stride,        \
                   dst_stride);                                                                                     \
        }                                                                                                           \
        if (full_cols < cols) {                                                                                     \
            SCALAR(s + full_cols, d + (ptrdiff_t)full_cols * dst_stride, full_rows, cols - full_cols, src_stride,   \
                   dst_stride);                                                                                     \
        }                                                                                                           \
    }

#endif
