// Resampling: every output along an axis is a weighted sum of neighbouring inputs.
#ifndef NACRE_RESIZE_RESIZE_H
#define NACRE_RESIZE_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
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

// ---- f32_deform_columns, f64_deform_columns ---------------------------------------

// The words of commands f32_deform_columns and f64_deform_columns: what the kernel of a
// deformable convolution reads of one image, as a matrix y[channels * kernel, places].
// The element k of the kernel reads, for a place p of the output, at the position
//     p * stride - pad + k * dilation + offsets[field, k, axis, p]
// along each axis: between pixels linearly, and 0 for a pixel outside. mask[field, k, p],
// unless it is left out, is a factor. Operands are x[channels of the image, in], offsets,
// mask and y; field is channel / per_field. No extent is 0 but those of x.
enum { NACRE_DEFORM_AXES = 8 };
typedef struct {
    int64_t axes;             // of space, 1..NACRE_DEFORM_AXES
    int64_t per_field;        // channels that share offsets
    int64_t first, channels;  // channels of x that are read
    int64_t in[NACRE_DEFORM_AXES], out[NACRE_DEFORM_AXES], kernel[NACRE_DEFORM_AXES];
    int64_t stride[NACRE_DEFORM_AXES], dilation[NACRE_DEFORM_AXES], pad[NACRE_DEFORM_AXES];
} nacre_deform_words;

const nacre_kernel *nacre_resize_kernels(size_t *count);

#endif
