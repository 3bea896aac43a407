// Products with weights in blocks of ggml's types. Package packed describes the blocks.
//
// Few rows are multiplied by the floats of a piece of a column while these are in the first cache.
// For many rows, the blocks of a product of floats (matmul/matmul.h) are made when they are needed.
#ifndef NACRE_BLOCKS_BLOCKS_H
#define NACRE_BLOCKS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "matmul/matmul.h"

const nacre_kernel *nacre_blocks_kernels(size_t *count);

// The types, as numbers in words.
enum {
#define NACRE_BLOCK_TYPE(name, elements, bytes) NACRE_BLOCK_##name,
#include "blocks/types.inc"
#undef NACRE_BLOCK_TYPE
    NACRE_BLOCK_TYPES
};

enum {
    NACRE_BLOCKS_ELEMENTS = 256,  // the most of a block
    NACRE_BLOCKS_PIECE = 1024,    // elements of a row that are unpacked at a time, whole blocks
    NACRE_BLOCKS_ROWS = 24        // the most rows of dot
};

// Writes the elements of count blocks to y. book has the vectors of the type's code book, 8 numbers
// each, if it has one. All variants give the same bits: a product and a sum are rounded one after
// the other.
typedef void nacre_unpack_fn(const uint8_t *src, size_t count, const int8_t *book, float *y);

// A matrix W [n][k] of rows of blocks.
typedef struct {
    size_t n, k;
    size_t elements, bytes;  // of a block
    size_t row_bytes;
    const uint8_t *data;
    const int8_t *book;
    nacre_unpack_fn *unpack;
} nacre_blocks;

// The functions for one level. A kernel row of op f32_blocks has the signature nacre_f32_blocks_fn
// and returns them.
typedef struct {
    nacre_unpack_fn *const *unpack;  // by type
    // Sets y[i*ldy + j] to sum_p x[i*w->k + p] W(j0+j,p) for i < m <= NACRE_BLOCKS_ROWS and j < n.
    void (*dot)(const nacre_blocks *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy);
} nacre_f32_blocks_impl;
typedef const nacre_f32_blocks_impl *nacre_f32_blocks_fn(void);

// The unpack functions of scalar.c, for levels without others.
extern nacre_unpack_fn *const nacre_unpack_scalar[NACRE_BLOCK_TYPES];

// Kernel rows f32_blocks: c(i,j) = alpha * sum_p a(i,p) W(j,p) + bias[j] for a [m][k] and c [m][n].
// Operands are a, W, book, bias and c. book is NULL for a type without a code book; bias may be
// absent.
typedef struct {
    int64_t m, n, k;
    int64_t type;
    double alpha;
    int64_t gemm;  // part: a kernel row of f32_gemm
} nacre_f32_blocks_words;

// Kernel rows unpack_blocks: y has n elements of whole blocks of a type. Operands are the blocks, book
// and y.
typedef struct {
    int64_t n;
    int64_t type;
} nacre_unpack_blocks_words;

#endif
