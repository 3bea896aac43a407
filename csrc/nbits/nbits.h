// Products with weights that stay stored as codes of 2, 4 or 8 bits. A block of
// neighbouring codes of a row shares a scale and a zero point.
//
// Codes are taken apart in registers, or, for many rows, in the blocks of a product
// of floats (matmul/matmul.h) that are made where they are needed. What a code
// stands for is rounded once; a product with the sum of a block is scaled after it.
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

// What codes count from.
typedef enum {
    NACRE_NBITS_MIDDLE,  // 2^(bits-1)
    NACRE_NBITS_CODES,   // zero points, stored as codes are, a row of them beginning with a byte
    NACRE_NBITS_FLOATS   // zero points, stored as scales are
} nacre_nbits_zeros;

// A matrix W [n][k], of which element (j,p) is
//     (code(j,p) - zero(j, p/block)) * scale(j, p/block)
// or, with a table, table[code(j,p)] * scale(j, p/block).
typedef struct {
    size_t n, k;
    size_t bits;         // 2, 4 or 8
    size_t block;        // a power of two, 16 at least
    const uint8_t *codes;  // the first in the lowest bits
    int high_first;        // the first of two codes of 4 bits is in the higher ones
    size_t row_bytes;      // from one row of codes to the next
    const void *scales;
    nacre_float_type type;  // of scales, and of zeros that are floats
    size_t row_scales;      // in a row
    nacre_nbits_zeros from;
    const void *zeros;   // row_scales in a row as well
    const float *table;  // 16 values of codes of 4 bits, or NULL
    // Irregular matrices, which no kernel takes:
    const int32_t *group;  // of k elements, what counts as p/block; or NULL
    int flat;              // element i = j*k + p has code i and scale i/block, rows not beginning anew
} nacre_nbits;

// The parts of a product for one ISA level. A kernel row of op f32_nbits has the
// signature nacre_f32_nbits_fn and returns its parts. W is regular.
typedef struct {
    size_t lanes;
    // Row a of k floats in the order in which dot meets codes: nacre_nbits_arranged
    // floats, 0 where there is no code.
    void (*arrange)(const nacre_nbits *w, const float *a, float *x);
    // y[i*ldy + j] = sum_p a(i,p) W(j0+j,p) for i < m and j < n, from arranged rows.
    void (*dot)(const nacre_nbits *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy);
    // dst[p*width + j] = W(j0+j, k0+p) for p < k and j < n <= width, and 0 for the other
    // j < width.
    void (*panel)(const nacre_nbits *w, size_t k0, size_t k, size_t j0, size_t n, size_t width, float *dst);
} nacre_f32_nbits_impl;
typedef const nacre_f32_nbits_impl *nacre_f32_nbits_fn(void);

static inline size_t nacre_nbits_per_word(const nacre_nbits *w) { return 32 / w->bits; }

// Words of 32 bits that hold the codes of a row.
static inline size_t nacre_nbits_row_words(const nacre_nbits *w) {
    return nacre_ceil_div(w->k, nacre_nbits_per_word(w));
}

static inline size_t nacre_nbits_arranged(const nacre_nbits *w, size_t lanes) {
    return nacre_round_up(nacre_nbits_row_words(w), lanes) * nacre_nbits_per_word(w);
}

// A product of rounded rows with codes, in whole numbers within a word. A kernel row
// of op i8_nbits has the signature nacre_i8_nbits_fn. W is regular, without a table and
// without high_first.
typedef struct {
    size_t lanes;
    // y[i*ldy + j] = sum_p r(i,p) W(j0+j,p) for i < m and j < n, where r are the numbers
    // that row i stands for after nacre_nbits_round.
    void (*dot)(const nacre_nbits *w, const uint8_t *x, size_t m, size_t j0, size_t n, float *y, size_t ldy);
} nacre_i8_nbits_impl;
typedef const nacre_i8_nbits_impl *nacre_i8_nbits_fn(void);

static inline size_t nacre_nbits_round_words(const nacre_nbits *w, size_t lanes) {
    return nacre_round_up(nacre_nbits_row_words(w), lanes);
}

// Bytes of a rounded row: for each word its numbers, a sum and a scale.
static inline size_t nacre_nbits_round_bytes(const nacre_nbits *w, size_t lanes) {
    return nacre_nbits_round_words(w, lanes) * (nacre_nbits_per_word(w) + 8);
}

// Rounds row a of k floats to whole numbers q from -127 to 127, each w->block of them
// with a scale of its own, largest magnitude/127: q*scale stands for a. Blocks below
// 2^-110 become 0, those with an infinity or a NaN become NaN.
//
// x gets, for every step of so many words, the numbers that meet the lowest codes of
// the words' bytes, those of the next codes and so on; then for each word an int32
// -2^(bits-1) times the sum of its numbers or, if W has zeros, that sum as a float;
// then for each word the scale as a float. Numbers beyond row and word are 0.
void nacre_nbits_round(const nacre_nbits *w, size_t lanes, const float *a, uint8_t *x);

// Element (j,p) of any matrix.
float nacre_nbits_at(const nacre_nbits *w, size_t j, size_t p);
// What number i of row j of scales and zeros says.
float nacre_nbits_scale(const nacre_nbits *w, size_t j, size_t i);
float nacre_nbits_zero(const nacre_nbits *w, size_t j, size_t i);

static inline unsigned nacre_nbits_code(const uint8_t *codes, size_t i, size_t bits) {
    const size_t bit = i * bits;
    return codes[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

static inline float nacre_nbits_float(const void *p, nacre_float_type type, size_t i) {
    switch (type) {
    case NACRE_FLOAT16: return nacre_f16_to_f32(((const uint16_t *)p)[i]);
    case NACRE_BFLOAT16: return nacre_bf16_to_f32(((const uint16_t *)p)[i]);
    default: return ((const float *)p)[i];
    }
}

// ---- commands ----
//
// Rows f32_nbits and i8_nbits: c(i,j) = sum_p a(i,p) W(j,p) + bias[j] for a [m][k] and
// c [m][n] or, transposed, c(i,p) = sum_j a(i,j) W(j,p) + bias[p] for a [m][n] and c
// [m][k]. Rows i8_nbits round a. Operands are a, codes, scales, zeros, table, group,
// bias and c, where zeros, table, group and bias may be left out. A group beyond
// row_scales ends the run.
typedef struct {
    int64_t m, n, k;
    int64_t bits, block, row_bytes, row_scales;  // as nacre_nbits has them
    int64_t type, from;
    int64_t high_first, flat, transposed;  // flags
    int64_t table, group;                  // whether the operands are there
    int64_t gemm;                          // part: a row of f32_gemm
} nacre_nbits_words;

// Row f32_columns: y(i,p) = a(i,order[p]) for a [m][k] and y [m][columns], and 0 where
// order[p] is negative. Operands are a, order, of int32, and y.
typedef struct {
    int64_t m, k, columns;
} nacre_columns_words;

// Row nbits_gather: y(o,i,r) = (table[code] - zero) * scale for element (o,index[i],r) of
// data [outer][extent][inner]; an index that is negative counts from the end, and one
// beyond the axis makes zeros. Codes follow each other without gaps. Along an axis, block
// neighbours share a scale and a zero point, which is table[code] of zeros, rows of which
// have zero_row codes, or, where zeros are left out, middle. Operands are data, indices,
// scales, zeros, table, of 256 floats, and y.
typedef struct {
    int64_t outer, picks, extent, inner;
    int64_t bits, index_bytes;
    int64_t type;  // of scales and y
    double middle;
    int64_t zero_row, scale_row;  // codes, and scales, in a row
    int64_t half;                 // part: a row of half
    int64_t axis, block, rank;
    int64_t dims[];  // extents of data, then strides of scales, 0 where one serves an axis
} nacre_nbits_gather_words;

#endif
