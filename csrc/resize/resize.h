// Resampling: each output along an axis is a weighted sum of neighbouring inputs.
#ifndef NACRE_RESIZE_RESIZE_H
#define NACRE_RESIZE_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "half/half.h"

// ---- f32_resample ---------------------------------------------------------------

// The words of command f32_resample, which resamples the middle axis of x[outer, n, inner] into
// y[outer, m, inner]:
//     y[o, j, i] = sum over t < taps of weights[t * m + j] * x[o, start[j] + t * step, i]
// step is 1 unless inner is 1. Operands are x, start (int32), weights (float) and y. Every
// start[j] + t * step is below n. No extent is 0.
typedef struct {
    int64_t outer, n, inner, m, taps, step;
    int64_t x_type, y_type;  // nacre_dtype
    int64_t half;            // part half; read only for 16-bit floats
} nacre_f32_resample_words;

// nacre_resampling holds, for each output j < m of an axis, `taps` weights weights[t * m + j] for
// the inputs start[j], start[j] + step, and so on.
typedef struct {
    size_t m, taps, step;
    const int32_t *start;
    const float *weights;
} nacre_resampling;

// nacre_f32_resample_impl holds the functions of one level. A row of the op has the signature
// nacre_f32_resample_fn and returns them.
typedef struct {
    // out[c] = sum over t of weights[t * m + j] * x[t * stride + c], for c < cols. x is the input
    // start[j].
    void (*cols)(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out);
    // out[j] = sum over t of weights[t * m + j] * x[start[j] + t * step], for j < m.
    void (*row)(const float *x, const nacre_resampling *r, float *out);
} nacre_f32_resample_impl;
typedef const nacre_f32_resample_impl *nacre_f32_resample_fn(void);

// ---- resample_nearest -----------------------------------------------------------

// The words of command resample_nearest, which resamples two axes of x[outer, n[0], n[1], inner]
// into y[outer, m[0], m[1], inner]: y[o, j, k, i] = x[o, start0[j], start1[k], i]. Operands are x,
// start0 (int32), start1 (int32) and y. Starts are below n[0] and n[1]. No extent is 0.
typedef struct {
    int64_t outer, n[2], m[2], inner;
    int64_t size;    // bytes of an element: 1, 2, 4, 8 or 16
    int64_t repeat;  // r if start1[k] is k / r for all k, or 0
} nacre_resample_nearest_words;

// y[j] = x[start[j]] for j < m, with elements of size bytes. If repeat is not 0, start[j] is j /
// repeat.
typedef void nacre_resample_nearest_fn(const void *x, const int32_t *start, size_t m, size_t size, size_t repeat,
                                       void *y);

// ---- f32_grid_sample --------------------------------------------------------------

enum nacre_grid_mode { NACRE_GRID_NEAREST, NACRE_GRID_LINEAR, NACRE_GRID_CUBIC };
enum nacre_grid_padding { NACRE_GRID_ZEROS, NACRE_GRID_BORDER, NACRE_GRID_REFLECTION };

enum {
    NACRE_GRID_AXES = 8,
    NACRE_GRID_EXTENT = 1 << 22,  // most pixels along an axis, so that float32 positions are exact enough
};

// The words of command f32_grid_sample, which samples x[images, channels, in...] at the positions
// grid[images, places, axes] into y[images, channels, places]. Coordinates are from -1 to 1, the
// innermost axis first. Operands are x, grid and y. No extent is 0.
typedef struct {
    int64_t images, channels, axes, places;
    int64_t in[NACRE_GRID_AXES];
    int64_t mode, padding;
    int64_t corners;  // -1 and 1 are the centres of the outermost pixels, not their edges
} nacre_grid_words;

// ---- f32_affine_grid --------------------------------------------------------------

enum {
    NACRE_AFFINE_AXES = 3,
    NACRE_AFFINE_PERIOD = 24,  // a common multiple of 2 and 3, the numbers of axes
};

// Command f32_affine_grid, operands theta[images, axes, axes + 1] and y[images, in..., axes]:
//     y[b, p, a] = theta[b, a, axes] + sum over k of theta[b, a, k] * place[p, axes - 1 - k]
// The positions along an axis are evenly spaced between -1 and 1. Sums are doubles, rounded once.
typedef struct {
    int64_t images, axes;           // axes is 2 or 3
    int64_t in[NACRE_AFFINE_AXES];  // from the outermost axis on, padded with 1
    int64_t corners;                // -1 and 1 are the centres of the outermost positions, not their edges
} nacre_affine_grid_words;

// y[i] = across[i] + begin[i % NACRE_AFFINE_PERIOD] for i < n.
typedef void nacre_affine_points_fn(const double *across, const double *begin, size_t n, float *y);

// ---- f32_regions ------------------------------------------------------------------

enum nacre_regions_kind { NACRE_REGIONS_ALIGN, NACRE_REGIONS_CROP, NACRE_REGIONS_CROP_NEAREST, NACRE_REGIONS_LARGEST };

// The words of command f32_regions, which computes regions of x[images, channels, height, width] as
// y[regions, channels, rows, columns]. Operands are x, regions[regions, 4], batch[regions] (the
// image of each region) and y.
//     align:   corners x0, y0, x1, y1, times scale, minus offset. An element is the mean of
//              samples x samples evenly spaced positions in it; if samples is 0, of as many
//              along each axis as it has pixels. Positions more than a pixel outside the
//              image are 0.
//     largest: as align, but an element is the largest of the terms of its samples, four
//              per sample; samples is 1 to 4.
//     crop:    corners y0, x0, y1, x1, where 0 to 1 spans the image. An element is the pixel at its
//              position, by linear interpolation or nearest; outside the image it is `outside`.
// No extent of x and y is 0.
typedef struct {
    int64_t images, channels, height, width, regions, rows, columns;
    int64_t kind;
    int64_t samples, most;    // samples, and the most of them along an axis of an element
    double scale, offset;     // for align
    int64_t least;            // for align: least extent of a region, 0 or 1
    double outside;           // for crop
    int64_t batch_bytes;      // bytes of an element of batch, 4 or 8
} nacre_regions_words;

// ---- f32_deform_columns, f64_deform_columns ---------------------------------------

// The words of commands f32_deform_columns and f64_deform_columns, which gather the inputs of a
// deformable convolution for one image as a matrix y[channels * kernel, places]. Element k of the
// kernel at output position p reads, along each axis, at
//     p * stride - pad + k * dilation + offsets[field, k, axis, p]
// by linear interpolation; pixels outside the image are 0. Values are multiplied by mask[field, k,
// p] unless mask is left out. Operands are x[channels of the image, in], offsets, mask and y. field
// is channel / per_field. No extent is 0, except of x.
enum { NACRE_DEFORM_AXES = 8 };
typedef struct {
    int64_t axes;             // spatial axes, 1..NACRE_DEFORM_AXES
    int64_t per_field;        // channels that share offsets
    int64_t first, channels;  // range of channels of x
    int64_t in[NACRE_DEFORM_AXES], out[NACRE_DEFORM_AXES], kernel[NACRE_DEFORM_AXES];
    int64_t stride[NACRE_DEFORM_AXES], dilation[NACRE_DEFORM_AXES], pad[NACRE_DEFORM_AXES];
} nacre_deform_words;

const nacre_kernel *nacre_resize_kernels(size_t *count);

#endif
