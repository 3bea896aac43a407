// Resampling: every output along an axis is a weighted sum of neighbouring inputs.
#ifndef NACRE_RESIZE_RESIZE_H
#define NACRE_RESIZE_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/parallel.h"
#include "half/half.h"

// ---- f32_resample ---------------------------------------------------------------

// The words of command f32_resample, of the middle axis of x[outer, n, inner] to
// y[outer, m, inner]:
//     y[o, j, i] = sum over t < taps of weights[t * m + j] * x[o, start[j] + t, i]
// Operands are x, start, weights and y. All inputs named exist; no extent is 0. Start is
// int32, weights are floats.
typedef struct {
    int64_t outer, n, inner, m, taps;
    int64_t x_type, y_type;  // nacre_float_type
    int64_t half;            // part half; looked at for 16-bit floats only
} nacre_f32_resample_words;

// For each output j < m of an axis: taps weights, weights[t * m + j], for the
// inputs from start[j] on.
typedef struct {
    size_t m, taps;
    const int32_t *start;
    const float *weights;
} nacre_resampling;

// A row of the op has the signature nacre_f32_resample_fn and returns its parts.
typedef struct {
    // out[c] = sum over t of weights[t * m + j] * x[t * stride + c], for c < cols, where x
    // is the input start[j].
    void (*cols)(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out);
    // out[j] = sum over t of weights[t * m + j] * x[start[j] + t], for j < m.
    void (*row)(const float *x, const nacre_resampling *r, float *out);
} nacre_f32_resample_impl;
typedef const nacre_f32_resample_impl *nacre_f32_resample_fn(void);

// ---- resample_nearest -----------------------------------------------------------

// The words of command resample_nearest, of the middle axis of x[outer, n, inner] to
// y[outer, m, inner]: y[o, j, i] = x[o, start[j], i]. Operands are x, start and y. All
// inputs named exist; no extent is 0.
typedef struct {
    int64_t outer, n, inner, m;
    int64_t size;  // bytes of an element: 1, 2, 4, 8 or 16
} nacre_resample_nearest_words;

// y[j] = x[start[j]] for j < m, of elements of size bytes.
typedef void nacre_resample_nearest_fn(const void *x, const int32_t *start, size_t m, size_t size, void *y);

const nacre_kernel *nacre_resize_kernels(size_t *count);

#endif
