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
//     y[o, j, i] = sum over t < taps of weights[t * m + j] * x[o, start[j] + t * step, i]
// Step is 1 unless inner is 1.
// Operands are x, start, weights and y. All inputs named exist; no extent is 0. Start is
// int32, weights are floats.
typedef struct {
    int64_t outer, n, inner, m, taps, step;
    int64_t x_type, y_type;  // nacre_float_type
    int64_t half;            // part half; looked at for 16-bit floats only
} nacre_f32_resample_words;

// For each output j < m of an axis: taps weights, weights[t * m + j], for the
// inputs start[j], start[j] + step, and so on.
typedef struct {
    size_t m, taps, step;
    const int32_t *start;
    const float *weights;
} nacre_resampling;

// A row of the op has the signature nacre_f32_resample_fn and returns its parts.
typedef struct {
    // out[c] = sum over t of weights[t * m + j] * x[t * stride + c], for c < cols, where x
    // is the input start[j].
    void (*cols)(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out);
    // out[j] = sum over t of weights[t * m + j] * x[start[j] + t * step], for j < m.
    void (*row)(const float *x, const nacre_resampling *r, float *out);
} nacre_f32_resample_impl;
typedef const nacre_f32_resample_impl *nacre_f32_resample_fn(void);

// ---- resample_nearest -----------------------------------------------------------

// The words of command resample_nearest, of two axes of x[outer, n[0], n[1], inner] to
// y[outer, m[0], m[1], inner]: y[o, j, k, i] = x[o, start0[j], start1[k], i]. Operands are x,
// start0, start1 and y; starts are int32. All inputs named exist; no extent is 0.
typedef struct {
    int64_t outer, n[2], m[2], inner;
    int64_t size;    // bytes of an element: 1, 2, 4, 8 or 16
    int64_t repeat;  // r if start1[k] is k / r for all k, or 0
} nacre_resample_nearest_words;

// y[j] = x[start[j]] for j < m, of elements of size bytes; start[j] is j / repeat unless repeat
// is 0.
typedef void nacre_resample_nearest_fn(const void *x, const int32_t *start, size_t m, size_t size, size_t repeat,
                                       void *y);

// ---- f32_grid_sample --------------------------------------------------------------

enum nacre_grid_mode { NACRE_GRID_NEAREST, NACRE_GRID_LINEAR, NACRE_GRID_CUBIC };
enum nacre_grid_padding { NACRE_GRID_ZEROS, NACRE_GRID_BORDER, NACRE_GRID_REFLECTION };

enum {
    NACRE_GRID_AXES = 8,
    NACRE_GRID_EXTENT = 1 << 22,  // most pixels along an axis: float32 tells such places apart
};

// The words of command f32_grid_sample: x[images, channels, in...] at the places of
// grid[images, places, axes], each from -1 to 1 and the innermost axis first, as
// y[images, channels, places]. Operands are x, grid and y. No extent is 0.
typedef struct {
    int64_t images, channels, axes, places;
    int64_t in[NACRE_GRID_AXES];
    int64_t mode, padding;
    int64_t corners;  // -1 and 1 are the centres of the outermost pixels, not their edges
} nacre_grid_words;

// ---- f32_affine_grid --------------------------------------------------------------

enum {
    NACRE_AFFINE_AXES = 3,
    NACRE_AFFINE_PERIOD = 24,  // a common multiple of 2 and 3, the lengths of points
};

// Command f32_affine_grid, operands theta[images, axes, axes + 1] and y[images, in..., axes]:
//     y[b, p, a] = theta[b, a, axes] + sum over k of theta[b, a, k] * place[p, axes - 1 - k]
// where the places of an axis are spaced evenly between -1 and 1. Sums are doubles, rounded once.
typedef struct {
    int64_t images, axes;           // axes is 2 or 3
    int64_t in[NACRE_AFFINE_AXES];  // from the outermost axis on, filled up with 1
    int64_t corners;                // -1 and 1 are the centres of the outermost places, not their edges
} nacre_affine_grid_words;

// y[i] = across[i] + begin[i % NACRE_AFFINE_PERIOD] for i < n.
typedef void nacre_affine_points_fn(const double *across, const double *begin, size_t n, float *y);

// ---- f32_regions ------------------------------------------------------------------

enum nacre_regions_kind { NACRE_REGIONS_ALIGN, NACRE_REGIONS_CROP, NACRE_REGIONS_CROP_NEAREST, NACRE_REGIONS_LARGEST };

// The words of command f32_regions: regions of x[images, channels, height, width] as
// y[regions, channels, rows, columns]. Operands are x, regions[regions, 4], the images
// batch[regions] and y.
//     align: corners x0, y0, x1, y1 times scale, less offset. An element is the mean of
//            samples x samples places in it, spread evenly; of as many as it has pixels along
//            each axis if samples is 0. Places more than a pixel outside the image are 0.
//     largest: the same, but the largest of the terms that samples are the sums of, four each;
//            samples is 1 to 4.
//     crop:  corners y0, x0, y1, x1 where the image has 0 to 1. An element is the pixel at its
//            place, between pixels linearly or the nearest; outside the image it is outside.
// No extent of x and y is 0.
typedef struct {
    int64_t images, channels, height, width, regions, rows, columns;
    int64_t kind;
    int64_t samples, most;    // samples; and most of them for an element along an axis
    double scale, offset;     // of align
    int64_t least;            // of align: the least extent of a region, 0 or 1
    double outside;           // of crop
    int64_t batch_bytes;      // bytes of a number of batch, 4 or 8
} nacre_regions_words;

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
