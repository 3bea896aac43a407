// Convolutions and transposed convolutions over any number of spatial axes.
//
// Values are [images][groups * channels][spatial], results [images]
// [groups * filters][spatial]. On axis d, with positions i of the value and o of
// the result of a convolution,
//     i[d] = o[d]*stride[d] + k[d]*dilation[d] - pad[d]
// for every position k of the kernel, and positions beyond the value's edges meet
// zeros. A transposed convolution has the same relation with i and o exchanged.
#ifndef NACRE_CONV_CONV_H
#define NACRE_CONV_CONV_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "matmul/matmul.h"

enum { NACRE_CONV_AXES = 8 };

typedef struct {
    size_t images, groups;
    size_t channels, filters;  // of one group: of the value, of the result
    size_t axes;               // spatial ones, at least 1
    size_t in[NACRE_CONV_AXES], out[NACRE_CONV_AXES];
    size_t kernel[NACRE_CONV_AXES], stride[NACRE_CONV_AXES], dilation[NACRE_CONV_AXES];
    size_t pad[NACRE_CONV_AXES];  // before the value; what is behind follows from out
} nacre_conv;

const nacre_kernel *nacre_conv_kernels(size_t *count);

// ---- commands ----

// The extents of a nacre_conv as words.
typedef struct {
    int64_t images, groups, channels, filters, axes;
    int64_t in[NACRE_CONV_AXES], out[NACRE_CONV_AXES], kernel[NACRE_CONV_AXES];
    int64_t stride[NACRE_CONV_AXES], dilation[NACRE_CONV_AXES], pad[NACRE_CONV_AXES];
} nacre_conv_extents;

// The words of commands f32_conv_depthwise, f32_conv_gemm, f32_conv_transpose,
// f64_conv_gemm, f64_conv and f64_conv_transpose. Operands are x, w, bias, add and y; bias and add may be left
// out, and add may be y. All are of the type of the command, float64 for the last three.
//
// y = map(clamp(conv(x, w) + bias[filter] + add)). Weights are
// [groups*filters][channels][kernel] of a convolution, and
// [groups*channels][filters][kernel] of a transposed one. Those of f32_conv_gemm and
// f32_conv_transpose may be packed.
typedef struct {
    nacre_conv_extents extents;
    int64_t type;      // nacre_float_type
    int64_t w_packed;  // w is what pack wrote
    int64_t has_add;   // whether add is there
    int64_t gemm;      // part f32_gemm; f64_gemm of f64_conv_gemm; none of the others of float64
    int64_t clamp;     // whether elements below low and above high become these
    double low, high;
    int64_t map;       // part: a function of elements of float32 or float64; 0 for none
    int64_t params[2]; // its parameters, two numbers of that type
} nacre_conv_words;

static inline nacre_conv nacre_conv_of(const nacre_conv_extents *w) {
    nacre_conv c = {(size_t)w->images, (size_t)w->groups, (size_t)w->channels, (size_t)w->filters, (size_t)w->axes, {0}, {0}, {0}, {0}, {0}, {0}};
    for (size_t d = 0; d < c.axes; d++) {
        c.in[d] = (size_t)w->in[d];
        c.out[d] = (size_t)w->out[d];
        c.kernel[d] = (size_t)w->kernel[d];
        c.stride[d] = (size_t)w->stride[d];
        c.dilation[d] = (size_t)w->dilation[d];
        c.pad[d] = (size_t)w->pad[d];
    }
    return c;
}

// ---- f32_conv_gemm, f64_conv_gemm: weights times columns ----
//
// The columns of a value are a matrix with a row for each channel of a group and
// position of the kernel, and a column for each position of the result. A row of this
// op writes rows k0..k0+k-1 of columns j0..j0+n-1 of the group whose first channel is
// at x, as panels of nr columns, a multiple of 16 and NACRE_IM2COL_NR at most or any
// number for the scalar row, with zeros beyond the last column.
typedef void nacre_f32_im2col_fn(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                                 float *dst);
enum { NACRE_IM2COL_NR = 64 };

// The same of doubles.
typedef void nacre_f64_im2col_fn(const nacre_conv *c, const double *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr, double *dst);

// The same of 16-bit floats, widened.
void nacre_half_im2col(const nacre_half *half, nacre_float_type type, const nacre_conv *c, const uint16_t *x, size_t k0, size_t k,
                       size_t j0, size_t n, size_t nr, float *dst);

// ---- f32_conv_transpose ----
//
// A row of this op adds the products of one filter, a row of n for each position of the
// kernel, for positions j0..j0+n-1 of the value, n at most NACRE_COL2IM_SPAN, to the
// filter's plane of the result.
typedef void nacre_f32_col2im_fn(const nacre_conv *c, const float *rows, size_t j0, size_t n, float *y);
enum { NACRE_COL2IM_SPAN = 256 };

// ---- f64_conv, f64_conv_transpose: the formula ----

typedef void nacre_f64_conv_fn(const nacre_conv *c, const nacre_f64_finish *e, nacre_team *team, const double *x, const double *w,
                               const double *bias, double *y);

// ---- f32_conv_depthwise: groups of one channel ----
//
// These work on bands: rows of a value, each as `parts` parts, part p with the columns
// of which a column of the kernel meets every parts-th, so that what it meets lies side
// by side. A part is its columns of the value and zeros, `part` elements, a multiple of
// 16; the padding before the value is the zeros of the part before, and there are
// `lead` zeros before the first, also a multiple of 16. Behind a band there are
// NACRE_DEPTHWISE_SLACK elements that are read.
enum { NACRE_DEPTHWISE_SLACK = 16 };

typedef struct {
    size_t in;   // columns of the value
    size_t pad;  // columns before them
    size_t parts, part, lead;
} nacre_f32_band;

typedef struct {
    const float *src;
    size_t kernel_h, kernel_w;
    size_t step, gap;      // from row to row of the result, of the kernel
    const size_t *offset;  // of the columns of the kernel
    const float *w;
    float bias;
    const float *add;                // laid out as out, or NULL
    const nacre_f32_finish *finish;  // of which only the clamp counts
    float *out;
    size_t ldc, rows, n;
} nacre_f32_depthwise_rows;

typedef struct nacre_f32_depthwise_driver nacre_f32_depthwise_driver;

// The parts for one ISA level. A row of the op has the signature
// nacre_f32_depthwise_fn and returns its parts.
typedef struct {
    // out[r*ldc + j] = clamp(bias + sum_yx w[y*kernel_w + x] src[r*step + y*gap + offset[x] + j] + add[r*ldc + j])
    // for r < rows, j < n.
    void (*filter)(const nacre_f32_depthwise_rows *t);
    // A band at a multiple of 64 bytes: rows of a value that follow each other at x,
    // and rows of zeros above and below them.
    void (*fill)(const nacre_f32_band *b, const float *x, size_t above, size_t rows, size_t below, float *dst);
    const nacre_f32_depthwise_driver *driver;
} nacre_f32_depthwise_impl;
typedef const nacre_f32_depthwise_impl *nacre_f32_depthwise_fn(void);

enum { NACRE_DEPTHWISE_KERNEL = 1024 };  // elements of a kernel at most

typedef struct {
    nacre_conv c;
    const nacre_f32_depthwise_impl *impl;
    const float *x, *w, *bias;  // bias may be NULL
    nacre_f32_finish finish;
    float *y;
    // Of operands that are not floats x, w, y and the add of finish are not looked at.
    // These make floats of n elements of the value from number `at`, and of the weights
    // of a filter, and take n sums of a filter, which they may overwrite and which are
    // elements of the result from number `at`.
    void (*read)(const void *source, size_t at, size_t n, float *dst);  // NULL for floats
    void (*weigh)(const void *source, size_t filter, float *dst);
    void (*write)(const void *source, size_t filter, size_t at, size_t n, float *sums);
    const void *source;
} nacre_f32_depthwise;

struct nacre_f32_depthwise_driver {
    // Whether it is a depthwise convolution whose strides and dilations do not make
    // bands much larger than the value.
    int (*fits)(const nacre_f32_depthwise *t);
    // In elements; scratch lies at a multiple of 64 bytes.
    size_t (*scratch)(const nacre_f32_depthwise *t, size_t threads);
    void (*run)(const nacre_f32_depthwise *t, nacre_team *team, float *scratch);
};
extern const nacre_f32_depthwise_driver nacre_f32_depthwise_drivers;

// Whether a convolution has no large kernel, extents of values not looked at.
static inline int nacre_conv_is_small(const nacre_conv *c) {
    size_t taps = 1;
    for (size_t d = 0; d < c->axes; d++) taps = taps > NACRE_DEPTHWISE_KERNEL ? taps : taps * c->kernel[d];
    return taps <= NACRE_DEPTHWISE_KERNEL;
}

// Whether it also has one axis or two, and one channel in a group.
static inline int nacre_conv_is_depthwise(const nacre_conv *c) { return c->channels == 1 && c->axes <= 2 && nacre_conv_is_small(c); }

#endif
