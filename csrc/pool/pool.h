// Maximum and average over windows that slide along the last axes of a
// contiguous value [planes, in...]. Here "pooling" is the operation and
// nacre_pool a set of threads.
#ifndef NACRE_POOL_POOL_H
#define NACRE_POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"

// A window is taken apart: first the rows it touches become one row, then the
// columns of that row become the outputs. A maximum passes over NaNs; of nothing
// it is -inf.

enum {
    NACRE_POOLING_ROWS = 16,  // rows that one call of f32_pooling_rows joins at most
    NACRE_POOLING_SLACK = 32, // floats behind a row that f32_pooling_cols may read
    NACRE_POOLING_AXES = 8,   // axes of a window at most
    NACRE_POOLING_PAD = 64,   // padding of a row that is laid out in memory, on either side at most
};

// Op f32_pooling_rows: buf[i] = max or sum over r < count of rows[r][i], for
// i < width; unless fresh, buf[i] itself is one of the operands. count > 0.
typedef void (*nacre_f32_pooling_rows_fn)(const float *const *rows, size_t count, bool max, bool fresh, size_t width, float *buf);

// Op f32_pooling_cols, for i < n, over t < taps:
//     max:      out[i] = max of row[i * stride + t * dilation]
//     otherwise out[i] = (sum of row[i * stride + t * dilation]) / (counts[i] * outer)
// taps > 0. NACRE_POOLING_SLACK floats behind the last one used can be read.
typedef struct {
    size_t taps, dilation, stride;
    bool max;
    const float *counts;
    float outer;
} nacre_pooling_cols;
typedef void (*nacre_f32_pooling_cols_fn)(const float *row, size_t n, const nacre_pooling_cols *p, float *out);

// The oracle, which other variants use for strides that they do not vectorise.
void nacre_f32_pooling_cols__scalar(const float *row, size_t n, const nacre_pooling_cols *p, float *out);

// One axis of the window. Taps that lie in the padding take no part; in averages
// they count if count_pad. pad is what stands before the input, pad_end behind.
typedef struct {
    size_t in, out, taps, stride, dilation, pad, pad_end;
} nacre_pooling_axis;

typedef struct {
    size_t planes;
    size_t axes; // 1..NACRE_POOLING_AXES
    nacre_pooling_axis axis[NACRE_POOLING_AXES];
    bool max;
    bool count_pad;
} nacre_pooling;

// Floats of scratch memory that nacre_f32_pooling needs on that many threads.
size_t nacre_f32_pooling_scratch(const nacre_pooling *p, size_t threads);

void nacre_f32_pooling(nacre_f32_pooling_rows_fn rows, nacre_f32_pooling_cols_fn cols, nacre_pool *pool, const float *x,
                       const nacre_pooling *p, float *scratch, float *out);

extern const nacre_kernel nacre_pool_kernels[];
extern const size_t nacre_pool_kernel_count;

#endif
