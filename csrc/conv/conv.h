// Convolutions and transposed convolutions over any number of spatial axes.
//
// Values are [images][groups * channels][spatial], results [images]
// [groups * filters][spatial]. On axis d, with positions i of the value and o of
// the result of a convolution,
//     i[d] = o[d]*stride[d] + tap[d]*dilation[d] - pad[d]
// and taps beyond the value's edges meet zeros. A transposed convolution has the
// same relation with i and o exchanged, so `out` is what it spreads into.
#ifndef NACRE_CONV_CONV_H
#define NACRE_CONV_CONV_H

#include <stddef.h>

#include "core/kernel.h"
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

// Rows of ops f32_conv, f64_conv, f32_conv_transpose and f64_conv_transpose: the
// formula. Weights are [groups*filters][channels][kernel] of a convolution, and
// [groups*channels][filters][kernel] of a transposed one; bias is one number per
// filter, or NULL.
typedef void nacre_conv_fn(const nacre_conv *c, nacre_team *team, const void *x, const void *w, const void *bias, void *y);

// Rows of op f32_im2col. The columns of a value are a matrix with a row for each
// channel of a group and tap, and a column for each position of the result, so
// that a convolution is weights times columns. This writes rows k0..k0+k-1 of
// columns j0..j0+n-1 of the group whose first channel is at x, as panels of nr
// columns, a multiple of 16 and NACRE_IM2COL_NR at most or any number for the
// scalar row, with zeros beyond the last column.
typedef void nacre_f32_im2col_fn(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                                 float *dst);
enum { NACRE_IM2COL_NR = 64 };

// The same of 16-bit floats, widened.
void nacre_half_im2col(const nacre_half *half, nacre_float_type type, const nacre_conv *c, const uint16_t *x, size_t k0, size_t k,
                       size_t j0, size_t n, size_t nr, float *dst);

// Rows of op f32_taps, for groups of one channel. They work on bands: rows of a
// value, each as `parts` parts, part p with the columns of which a tap meets every
// parts-th, so that what a tap meets lies side by side. A part is its columns of the
// value and zeros, `part` elements, a multiple of 16; the padding before the value
// is the zeros of the part before, and there are `lead` zeros before the first, also a
// multiple of 16. Behind a band there are NACRE_TAPS_SLACK elements that are read.
enum { NACRE_TAPS_SLACK = 16 };

typedef struct {
    size_t in;   // columns of the value
    size_t pad;  // columns before them
    size_t parts, part, lead;
} nacre_f32_band;

typedef struct {
    const float *src;
    size_t kernel_h, kernel_w;
    size_t step, gap;      // from row to row of the result, of taps
    const size_t *offset;  // of the taps of a row of the kernel
    const float *w;
    float bias;
    const float *add;                // laid out as out, or NULL
    const nacre_f32_finish *finish;  // of which only the clamp counts
    float *out;
    size_t ldc, rows, n;
} nacre_f32_taps;

typedef struct {
    // out[r*ldc + j] = clamp(bias + sum_yx w[y*kernel_w + x] src[r*step + y*gap + offset[x] + j] + add[r*ldc + j])
    // for r < rows, j < n.
    void (*filter)(const nacre_f32_taps *t);
    // A band at a multiple of 64 bytes: rows of a value that follow each other at x,
    // and rows of zeros above and below them.
    void (*fill)(const nacre_f32_band *b, const float *x, size_t above, size_t rows, size_t below, float *dst);
} nacre_f32_taps_impl;
typedef const nacre_f32_taps_impl *nacre_f32_taps_fn(void);

// ---- convolutions by taps ----

enum { NACRE_TAPS_MOST = 1024 };  // taps of a kernel

typedef struct {
    nacre_conv c;
    const nacre_f32_taps_impl *impl;
    const float *x, *w, *bias;  // bias may be NULL
    nacre_f32_finish finish;
    float *y;
    // Of operands that are not floats x, w and y are not looked at. These make floats
    // of n elements of the value from number `at`, and of the weights of a filter, and
    // take n sums of a filter, which are elements of the result from number `at`.
    void (*read)(const void *source, size_t at, size_t n, float *dst);  // NULL for floats
    void (*weigh)(const void *source, size_t filter, float *dst);
    void (*write)(const void *source, size_t filter, size_t at, size_t n, const float *sums);
    const void *source;
} nacre_taps_conv;

// Whether weights should not be packed, because the convolution goes by taps. It
// looks at channels, axes and kernel only.
int nacre_conv_by_taps(const nacre_conv *c);
// Whether it really does, which extents decide.
int nacre_taps_suit(const nacre_taps_conv *t);

// In elements; scratch lies at a multiple of 64 bytes.
size_t nacre_taps_scratch(const nacre_taps_conv *t, size_t threads);
void nacre_taps_run(const nacre_taps_conv *t, nacre_team *team, float *scratch);

// ---- f32 convolutions by matrix products or by taps ----

typedef struct {
    nacre_conv c;
    const nacre_f32_gemm_impl *gemm;
    nacre_f32_im2col_fn *im2col;
    const nacre_f32_taps_impl *taps;
    int packed;  // w is what nacre_f32_conv_pack or nacre_f32_conv_transpose_pack wrote
    nacre_float_type type;  // of x, w and y; NACRE_FLOAT32 for transposed ones
    const void *x, *w;
    const float *bias;
    nacre_f32_finish finish;  // of convolutions that are not transposed
    void *y;
} nacre_f32_conv;

// Sizes are in elements, which packing keeps in their type; scratch lies at a
// multiple of 64 bytes.
size_t nacre_f32_conv_packed(const nacre_conv *c, const nacre_f32_gemm_impl *impl);
void nacre_f32_conv_pack(const nacre_conv *c, const nacre_f32_gemm_impl *impl, nacre_float_type type, const void *w, void *dst);
size_t nacre_f32_conv_scratch(const nacre_f32_conv *j, size_t threads);
void nacre_f32_conv_run(const nacre_f32_conv *j, nacre_team *team, float *scratch);

size_t nacre_f32_conv_transpose_packed(const nacre_conv *c, const nacre_f32_gemm_impl *impl);
void nacre_f32_conv_transpose_pack(const nacre_conv *c, const nacre_f32_gemm_impl *impl, const float *w, float *dst);
size_t nacre_f32_conv_transpose_scratch(const nacre_f32_conv *j, size_t threads);
void nacre_f32_conv_transpose_run(const nacre_f32_conv *j, nacre_team *team, float *scratch);

#endif
