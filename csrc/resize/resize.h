// Resampling: every output along an axis is a weighted sum of neighbouring inputs.
#ifndef NACRE_RESIZE_RESIZE_H
#define NACRE_RESIZE_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/parallel.h"

// For each output j < m of an axis: taps weights, weights[t * m + j], for the
// inputs from start[j] on, all of which exist. taps > 0.
typedef struct {
    size_t m, taps;
    const int32_t *start;
    const float *weights;
} nacre_resampling;

// Op f32_resample_cols: out[c] = sum over t of weights[t * m + j] * x[t * stride + c],
// for c < cols, where x is the input start[j].
typedef void (*nacre_f32_resample_cols_fn)(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out);

// Op f32_resample_row: out[j] = sum over t of weights[t * m + j] * x[start[j] + t], for j < m.
typedef void (*nacre_f32_resample_row_fn)(const float *x, const nacre_resampling *r, float *out);

// Resamples the middle axis of x[outer, n, inner] to out[outer, m, inner].
void nacre_f32_resample(nacre_f32_resample_cols_fn cols, nacre_f32_resample_row_fn row, nacre_team *team, const float *x, size_t outer,
                        size_t n, size_t inner, const nacre_resampling *r, float *out);

extern const nacre_kernel nacre_resize_kernels[];
extern const size_t nacre_resize_kernel_count;

#endif
