// Products with weights that stay stored as codes of 2, 4 or 8 bits. A block of neighbouring codes
// of a row shares a scale and a zero point.
//
// Codes are decoded in registers or, for many rows, in the blocks of a product of floats
// (matmul/matmul.h), which are made when they are needed. A decoded number is rounded once. A
// product with the sum of a block is scaled after it.
#ifndef NACRE_NBITS_NBITS_H
#define NACRE_NBITS_NBITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "half/half.h"
#include "matmul/matmul.h"

const nacre_kernel *nacre_nbits_kernels(size_t *count);

// The zero point of codes.
typedef enum {
    NACRE_NBITS_MIDDLE,  // 2^(bits-1)
    NACRE_NBITS_CODES,   // zero points stored as codes are; each row of them begins at a byte
    NACRE_NBITS_FLOATS   // zero points stored as scales are
} nacre_nbits_zeros;

// A matrix W [n][k]. Element (j,p) is
//     (code(j,p) - zero(j, p/block)) * scale(j, p/block)
// or, with a table, table[code(j,p)] * scale(j, p/block).
typedef struct {
    size_t n, k;
    size_t bits;         // 2, 4 or 8
    size_t block;        // a power of two, at least 16
    const uint8_t *codes;  // the first in the lowest bits
    int high_first;        // the first of two codes of 4 bits is in the higher ones
    size_t row_bytes;      // from one row of codes to the next
    const void *scales;
    nacre_dtype type;  // of scales, and of zeros that are floats
    size_t row_scales;      // scales in a row
    nacre_nbits_zeros from;
    const void *zeros;   // also row_scales in a row
    const float *table;  // 16 values of codes of 4 bits, or NULL
    // For irregular matrices, which no kernel takes:
    const int32_t *group;  // k numbers that replace p/block; or NULL
    int flat;              // element i = j*k + p has code i and scale i/block across rows
} nacre_nbits;

// The functions of a product for one level. A kernel row of op f32_nbits has the signature
// nacre_f32_nbits_fn and returns them. W is regular.
typedef struct {
    size_t lanes;  // of a vector
    // Writes row a of k floats in the order in which dot takes codes: nacre_nbits_arranged floats,
    // 0 where there is no code.
    void (*arrange)(const nacre_nbits *w, const float *a, float *x);
    // Sets y[i*ldy + j] to sum_p a(i,p) W(j0+j,p) for i < m and j < n, from arranged rows.
    void (*dot)(const nacre_nbits *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy);
    // Sets dst[p*width + j] to W(j0+j, k0+p) for p < k and j < n <= width, and to 0 for the other j
    // < width.
    void (*panel)(const nacre_nbits *w, size_t k0, size_t k, size_t j0, size_t n, size_t width, float *dst);
} nacre_f32_nbits_impl;
typedef const nacre_f32_nbits_impl *nacre_f32_nbits_fn(void);

static inline size_t nacre_nbits_per_word(const nacre_nbits *w) { return 32 / w->bits; }

// Returns the words of 32 bits that hold the codes of a row.
static inline size_t nacre_nbits_row_words(const nacre_nbits *w) {
    return nacre_ceil_div(w->k, nacre_nbits_per_word(w));
}

static inline size_t nacre_nbits_arranged(const nacre_nbits *w, size_t lanes) {
    return nacre_round_up(nacre_nbits_row_words(w), lanes) * nacre_nbits_per_word(w);
}

// Returns element (j,p) of any matrix.
float nacre_nbits_at(const nacre_nbits *w, size_t j, size_t p);
// nacre_nbits_scale and nacre_nbits_zero return scale and zero point i of row j.
float nacre_nbits_scale(const nacre_nbits *w, size_t j, size_t i);
float nacre_nbits_zero(const nacre_nbits *w, size_t j, size_t i);

static inline unsigned nacre_nbits_code(const uint8_t *codes, size_t i, size_t bits) {
    const size_t bit = i * bits;
    return codes[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

static inline float nacre_nbits_float(const void *p, nacre_dtype type, size_t i) {
    switch (type) {
    case NACRE_DTYPE_f16: return nacre_f16_to_f32(((const uint16_t *)p)[i]);
    case NACRE_DTYPE_bf16: return nacre_bf16_to_f32(((const uint16_t *)p)[i]);
    default: return ((const float *)p)[i];
    }
}

// ---- commands ----
//
// Kernel rows f32_nbits: c(i,j) = sum_p a(i,p) W(j,p) + bias[j] for a [m][k] and c [m][n] or,
// transposed, c(i,p) = sum_j a(i,j) W(j,p) + bias[p] for a [m][n] and c [m][k]. Operands are a, codes,
// scales, zeros, table, group, bias and c; zeros, table, group and bias may be absent. A group beyond
// row_scales ends the run. Constant codes are better packed in panels (blocks/panels.h).
typedef struct {
    int64_t m, n, k;
    int64_t bits, block, row_bytes, row_scales;  // as in nacre_nbits
    int64_t type, from;
    int64_t high_first, flat, transposed;  // flags
    int64_t table, group;                  // whether the operands are given
    int64_t gemm;                          // part: a kernel row of f32_gemm
} nacre_nbits_words;

// Kernel row f32_columns: y(i,p) = a(i,order[p]) for a [m][k] and y [m][columns], or 0 if order[p]
// is negative. Operands are a, order, of int32, and y.
typedef struct {
    int64_t m, k, columns;
} nacre_columns_words;

// Kernel row nbits_gather: y(o,i,r) = (table[code] - zero) * scale for element (o,index[i],r) of
// data [outer][extent][inner]. A negative index counts from the end; an index beyond the axis gives
// zeros. Codes follow each other without gaps. Along an axis, block neighbours share a scale and a
// zero point. The zero point is table[code] of zeros, with rows of zero_row codes, or middle if
// zeros is absent. Operands are data, indices, scales, zeros, table, of 256 floats, and y.
typedef struct {
    int64_t outer, picks, extent, inner;
    int64_t bits, index_bytes;
    int64_t type;  // of scales and y
    double middle;
    int64_t zero_row, scale_row;  // codes of zeros in a row, scales in a row
    int64_t half;                 // part: a kernel row of half
    int64_t axis, block, rank;
    int64_t dims[];  // extents of data, then strides of scales, 0 if one scale serves an axis
} nacre_nbits_gather_words;

#endif
