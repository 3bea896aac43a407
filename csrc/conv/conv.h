// Convolutions and transposed convolutions over any number of spatial axes.
//
// Values are [images][groups * channels][spatial], results [images] [groups * filters][spatial]. On
// axis d, with positions i of the value and o of the result of a convolution,
//     i[d] = o[d]*stride[d] + k[d]*dilation[d] - pad[d]
// for every position k of the kernel. Positions beyond the value's edges meet zeros. A transposed
// convolution has the same relation with i and o exchanged.
#ifndef NACRE_CONV_CONV_H
#define NACRE_CONV_CONV_H

#include <stddef.h>
#include <string.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "matmul/matmul.h"

enum { NACRE_CONV_AXES = 8 };

typedef struct {
    size_t images, groups;
    size_t channels, filters;  // of one group: channels of the value, filters of the result
    size_t axes;               // spatial axes, at least 1
    size_t in[NACRE_CONV_AXES], out[NACRE_CONV_AXES];
    size_t kernel[NACRE_CONV_AXES], stride[NACRE_CONV_AXES], dilation[NACRE_CONV_AXES];
    size_t pad[NACRE_CONV_AXES];  // before the value; the padding after it follows from out
} nacre_conv;

const nacre_kernel *nacre_conv_kernels(size_t *count);

// nacre_f32_at returns float i at p, which has any address.
static inline float nacre_f32_at(const void *p, size_t i) {
    float f;
    memcpy(&f, (const char *)p + i * sizeof f, sizeof f);
    return f;
}

// ---- commands ----

// The extents of a nacre_conv as words.
typedef struct {
    int64_t images, groups, channels, filters, axes;
    int64_t in[NACRE_CONV_AXES], out[NACRE_CONV_AXES], kernel[NACRE_CONV_AXES];
    int64_t stride[NACRE_CONV_AXES], dilation[NACRE_CONV_AXES], pad[NACRE_CONV_AXES];
} nacre_conv_extents;

// The words of commands f32_conv_depthwise, f32_conv_gemm, f32_conv_transpose, f64_conv_gemm,
// f64_conv and f64_conv_transpose. Operands are x, w, bias, add and y. bias and add may be absent,
// and add may be y. All have the type of the command, float64 for the last three.
//
// y = map(clamp(conv(x, w) + bias[filter] + add)). Weights are [groups*filters][channels][kernel]
// of a convolution, and [groups*channels][filters][kernel] of a transposed one. The weights of
// f32_conv_gemm and f32_conv_transpose may be packed.
typedef struct {
    nacre_conv_extents extents;
    int64_t type;      // nacre_dtype
    int64_t w_packed;  // w is packed by the entry's pack
    int64_t has_add;   // whether operand add is given
    int64_t gemm;      // part f32_gemm, or f64_gemm of f64_conv_gemm; 0 in the other float64 commands
    int64_t clamp;     // whether elements are clamped to low..high
    double low, high;
    int64_t map;       // part: a function of float32 or float64 elements; 0 for none
    int64_t params[2]; // the parameters of map, two numbers of that type
} nacre_conv_words;

static inline nacre_conv nacre_conv_of(const nacre_conv_extents *w) {
    nacre_conv c = {(size_t)w->images, (size_t)w->groups, (size_t)w->channels, (size_t)w->filters, (size_t)w->axes, {0},
                    {0}, {0}, {0}, {0}, {0}};
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
// The columns of a value are a matrix with a row for each channel of a group and position of the
// kernel, and a column for each position of the result. A kernel row of this op writes rows
// k0..k0+k-1 of columns j0..j0+n-1 of the group with its first channel at x, as panels of nr
// columns with zeros beyond the last column. nr is a multiple of 16 and at most NACRE_IM2COL_NR;
// the scalar row takes any such number.
typedef void nacre_f32_im2col_fn(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n,
                                 size_t nr, float *dst);
enum { NACRE_IM2COL_NR = 64 };

// The same for doubles.
typedef void nacre_f64_im2col_fn(const nacre_conv *c, const double *x, size_t k0, size_t k, size_t j0, size_t n,
                                 size_t nr, double *dst);

// The same for 16-bit floats, widened.
void nacre_half_im2col(const nacre_half *half, nacre_dtype type, const nacre_conv *c, const uint16_t *x, size_t k0,
                       size_t k, size_t j0, size_t n, size_t nr, float *dst);

// ---- f32_conv_transpose ----
//
// A kernel row of this op adds the products of one filter, a row of n for each position of the
// kernel, to the filter's plane of the result. The products are of positions j0..j0+n-1 of the
// value, n at most NACRE_COL2IM_SPAN.
typedef void nacre_f32_col2im_fn(const nacre_conv *c, const float *rows, size_t j0, size_t n, float *y);
enum { NACRE_COL2IM_SPAN = 256 };

// ---- f64_conv, f64_conv_transpose: the formula ----

typedef void nacre_f64_conv_fn(const nacre_conv *c, const nacre_f64_finish *e, nacre_team *team, const double *x,
                               const double *w, const double *bias, double *y);

// ---- f32_conv_depthwise: groups of one channel ----
//
// These work on bands: rows of a value, each as `parts` parts. Part p has the columns that are p
// modulo `parts` in the padded row, so that the elements under one column of the kernel are
// contiguous. A part is its columns of the value and zeros, `part` elements, a multiple of 16. The
// padding before the value is the zeros at the end of the part before; there are `lead` zeros
// before the first part, also a multiple of 16. NACRE_DEPTHWISE_SLACK elements after a band may be
// read.
enum { NACRE_DEPTHWISE_SLACK = 16 };

typedef struct {
    size_t in;   // columns of the value
    size_t pad;  // columns of padding before them
    size_t parts, part, lead;
} nacre_f32_band;

typedef struct {
    const float *src;
    size_t kernel_h, kernel_w;
    size_t step, gap;      // from row to row of the result, and of the kernel
    const size_t *offset;  // of the columns of the kernel
    const float *w;
    float bias;
    const float *add;                // in the layout of out, or NULL
    const nacre_f32_finish *finish;  // only its clamp is used
    float *out;
    size_t ldc, rows, n;
} nacre_f32_depthwise_rows;

typedef struct nacre_f32_depthwise_driver nacre_f32_depthwise_driver;

// The functions of the op for one level. A kernel row of the op has the signature
// nacre_f32_depthwise_fn and returns them.
typedef struct {
    // out[r*ldc + j] = clamp(bias + sum_yx w[y*kernel_w + x] src[r*step + y*gap + offset[x] + j]
    //                        + add[r*ldc + j])
    // for r < rows, j < n.
    void (*filter)(const nacre_f32_depthwise_rows *t);
    // Writes a band, aligned to 64 bytes: the consecutive rows of a value at x, and rows of zeros
    // above and below them.
    void (*fill)(const nacre_f32_band *b, const float *x, size_t above, size_t rows, size_t below, float *dst);
    const nacre_f32_depthwise_driver *driver;
} nacre_f32_depthwise_impl;
typedef const nacre_f32_depthwise_impl *nacre_f32_depthwise_fn(void);

enum { NACRE_DEPTHWISE_KERNEL = 1024 };  // largest number of elements of a kernel

typedef struct {
    nacre_conv c;
    const nacre_f32_depthwise_impl *impl;
    const float *x, *w, *bias;  // bias may be NULL
    nacre_f32_finish finish;
    float *y;
    // For operands that are not floats, read is not NULL, and x, w, y and finish.add are ignored.
    // read makes floats of n elements of the value from element `at`, and weigh of the weights of a
    // filter. write takes n sums of a filter, which it may overwrite: elements of the result from
    // element `at`.
    void (*read)(const void *source, size_t at, size_t n, float *dst);  // NULL for floats
    void (*weigh)(const void *source, size_t filter, float *dst);
    void (*write)(const void *source, size_t filter, size_t at, size_t n, float *sums);
    const void *source;
} nacre_f32_depthwise;

struct nacre_f32_depthwise_driver {
    // Reports whether t is a depthwise convolution with strides and dilations that do not make
    // bands much larger than the value.
    int (*fits)(const nacre_f32_depthwise *t);
    // Returns the size in elements. Scratch is aligned to 64 bytes.
    size_t (*scratch)(const nacre_f32_depthwise *t, size_t threads);
    void (*run)(const nacre_f32_depthwise *t, nacre_team *team, float *scratch);
};
extern const nacre_f32_depthwise_driver nacre_f32_depthwise_drivers;

// Reports whether the kernel of a convolution is small. The extents of values do not count.
static inline int nacre_conv_is_small(const nacre_conv *c) {
    size_t taps = 1;
    for (size_t d = 0; d < c->axes; d++) taps = taps > NACRE_DEPTHWISE_KERNEL ? taps : taps * c->kernel[d];
    return taps <= NACRE_DEPTHWISE_KERNEL;
}

// Reports whether it also has one axis or two, and groups of one channel.
static inline int nacre_conv_is_depthwise(const nacre_conv *c) {
    return c->channels == 1 && c->axes <= 2 && nacre_conv_is_small(c);
}

#endif
