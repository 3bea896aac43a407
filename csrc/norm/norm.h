// Normalisations over axes of contiguous values.
#ifndef NACRE_NORM_NORM_H
#define NACRE_NORM_NORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"
#include "eltwise/eltwise.h"

// Outputs of every kernel and driver may be the same memory as x.

// Columns that a driver hands to a kernel at most.
enum { NACRE_NORM_COLS = 64 };

// Op f32_softmax, for each c < cols, over k < n with x_k = x[k * stride + c]:
//     out_k = exp(x_k - max x) / sum_j exp(x_j - max x), or its logarithm if log
// n > 0. Contiguous elements are the case stride 1, cols 1.
typedef void (*nacre_f32_softmax_fn)(const float *x, size_t n, size_t stride, size_t cols, bool log, float *out);

// Op f32_moments: the mean of x[0..n) and the mean of (x[i] - mean)^2; if not
// centred, *mean = 0 and *var is the mean of x[i]^2. n > 0.
typedef void (*nacre_f32_moments_fn)(const float *x, size_t n, bool centred, float *mean, float *var);

// Op f32_affine: out[i] = (x[i] - sub) * mul + add
typedef void (*nacre_f32_affine_fn)(const float *x, size_t n, float sub, float mul, float add, float *out);

// Op f32_affine_each: out[i] = (x[i] - sub) * mul * scale[i] + bias[i]; a bias
// of NULL is zeros.
typedef void (*nacre_f32_affine_each_fn)(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias,
                                         float *out);

typedef struct {
    size_t size;  // of the window of channels
    float alpha;  // divided by size already
    float beta, bias;
} nacre_lrn_params;

// Op f32_lrn, for each c < cols, with x_k = x[k * stride + c] and k < channels:
//     out_k = x_k / (bias + alpha * sum of x_j^2)^beta
// over channels j from k - (size - 1) / 2 to k + size / 2 that exist. out is not x.
typedef void (*nacre_f32_lrn_fn)(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p, float *out);

// Softmax along the middle axis of x[outer, n, inner]; n > 0.
void nacre_f32_softmax(nacre_f32_softmax_fn kernel, nacre_team *team, const float *x, size_t outer, size_t n, size_t inner, bool log,
                       float *out);

// Each row of x[rows, n] brought to mean 0 and variance 1, then scaled and shifted by scale[n] and
// bias[n] (NULL: no bias); without centring it is divided by its root mean square instead. mean and
// inv_std take a number per row where not NULL. n > 0.
void nacre_f32_layer_norm(nacre_f32_moments_fn moments, nacre_f32_affine_each_fn affine, nacre_team *team, const float *x, size_t rows,
                          size_t n, const float *scale, const float *bias, float epsilon, bool centred, float *out, float *mean,
                          float *inv_std);

// sum = x + skip + bias, where skip has skip_rows rows and starts anew after them and a bias of NULL is
// zeros; then layer_norm of sum with scale and beta. sum may be out, which then is left without it, and either
// may be x. add is of op f32_add.
typedef struct {
    const float *x, *skip, *bias, *scale, *beta;
    size_t rows, n, skip_rows;
    float epsilon;
    bool centred;
    float *sum, *out, *mean, *inv_std;
} nacre_skip_norm;
void nacre_f32_skip_norm(nacre_binary_fn add, nacre_f32_moments_fn moments, nacre_f32_affine_each_fn affine, nacre_team *team,
                         const nacre_skip_norm *s);

// x[batch, channels, inner] brought to mean 0 and variance 1 over each of `groups` runs of neighbouring
// channels, then scaled and shifted per channel. channels is a multiple of groups; inner > 0.
void nacre_f32_group_norm(nacre_f32_moments_fn moments, nacre_f32_affine_fn affine, nacre_team *team, const float *x, size_t batch,
                          size_t channels, size_t groups, size_t inner, const float *scale, const float *bias, float epsilon, float *out);

// out = (x - sub[c]) * mul[c] + add[c] on x[batch, channels, inner].
void nacre_f32_channel_affine(nacre_f32_affine_fn affine, nacre_team *team, const float *x, size_t batch, size_t channels, size_t inner,
                              const float *sub, const float *mul, const float *add, float *out);

// out = x * mul[c] + add[c] on x[rows, channels].
void nacre_f32_row_affine(nacre_f32_affine_each_fn affine, nacre_team *team, const float *x, size_t rows, size_t channels,
                          const float *mul, const float *add, float *out);

// LRN on x[batch, channels, inner]; out is not x.
void nacre_f32_lrn(nacre_f32_lrn_fn kernel, nacre_team *team, const float *x, size_t batch, size_t channels, size_t inner,
                   const nacre_lrn_params *p, float *out);

extern const nacre_kernel nacre_norm_kernels[];
extern const size_t nacre_norm_kernel_count;

#endif
