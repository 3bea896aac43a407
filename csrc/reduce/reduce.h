// Reductions of one axis of a contiguous value [outer, n, inner] to [outer, inner].
#ifndef NACRE_REDUCE_REDUCE_H
#define NACRE_REDUCE_REDUCE_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"

typedef enum {
    NACRE_REDUCE_SUM,
    NACRE_REDUCE_SUMSQ,  // of squares
    NACRE_REDUCE_SUMABS, // of absolute values
    NACRE_REDUCE_PROD,
    NACRE_REDUCE_MAX,  // NaN if there is one
    NACRE_REDUCE_MIN,  // NaN if there is one
} nacre_reduce_op;

// Blocks that the driver hands to a kernel: at most so many elements of a row,
// rows of a column, and columns. It combines the blocks' results in double.
enum { NACRE_REDUCE_ROW = 4096, NACRE_REDUCE_ROWS = 128, NACRE_REDUCE_COLS = 64 };

// Op f32_reduce:
//     out[c] = op over r < rows of x[r * stride + c], for c < cols
// rows > 0. A row of a contiguous value is the case stride 1, cols 1.
typedef void (*nacre_f32_reduce_fn)(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op, float *out);

// out[o * inner + i] = scale * (op over k < n of x[(o * n + k) * inner + i]); n > 0.
// Sums and products over blocks are formed in double and rounded once.
void nacre_f32_reduce(nacre_f32_reduce_fn kernel, nacre_team *team, const float *x, size_t outer, size_t n, size_t inner,
                      nacre_reduce_op op, double scale, float *out);

extern const nacre_kernel nacre_reduce_kernels[];
extern const size_t nacre_reduce_kernel_count;

#endif
