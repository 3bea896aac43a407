// Normalisations over axes of contiguous values.
//
// Commands read and write float, float16 or bfloat16 elements, as words of nacre_dtype say.
// They compute in float and round once. half is the part of op half, or 0 if all types are float.
#ifndef NACRE_NORM_NORM_H
#define NACRE_NORM_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

const nacre_kernel *nacre_norm_kernels(size_t *count);

// ---- f32_softmax --------------------------------------------------------------

// NACRE_NORM_COLS is the largest number of columns of a tile.
enum { NACRE_NORM_COLS = 64 };

// For each c < cols, over k < n with x_k = x[k * stride + c]:
//     out_k = exp(x_k - max x) / sum_j exp(x_j - max x), or its logarithm if log
// n > 0. Stride 1 and cols 1 is a contiguous row. out may be x.
typedef void nacre_f32_softmax_fn(const float *x, size_t n, size_t stride, size_t cols, bool log, float *out);

// Command: softmax along the middle axis of [outer, n, inner]. Operands: x, out, which may be x. The
// kernel rows named turned take an inner of 1 and at most NACRE_TURN_ROW elements along the axis,
// and turn rows of a matrix into columns first.
typedef struct {
    int64_t outer, n, inner;
    int64_t log;   // flag
    int64_t type;  // of x and out
    int64_t half;
} nacre_f32_softmax_words;

// ---- f32_layer_norm, f32_skip_norm, f32_embed_norm, f32_group_norm, f32_batch_norm

// nacre_f32_norm_impl holds the loops of one level. A row of these ops has the signature
// nacre_f32_norm_fn and returns them. Outputs may be inputs.
typedef struct {
    // The sum of x[i], or of (x[i] - shift)^2 if squares. At most NACRE_NORM_BLOCK elements are
    // summed in float; the sums of such blocks are added in double.
    double (*sum)(const float *x, size_t n, bool squares, float shift);
    // out[i] = (x[i] - sub) * mul + add
    void (*affine)(const float *x, size_t n, float sub, float mul, float add, float *out);
    // out[i] = (x[i] - sub) * mul * scale[i] + bias[i]. If bias is NULL, it is 0.
    void (*affine_each)(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias,
                        float *out);
    // out[i] = x[i] + y[i]
    void (*add)(const float *x, const float *y, size_t n, float *out);
} nacre_f32_norm_impl;
typedef const nacre_f32_norm_impl *nacre_f32_norm_fn(void);

enum { NACRE_NORM_BLOCK = 4096 };

// Command: normalises rows of [rows, n] to mean 0 and variance 1, then scales and shifts them:
//     out = (x - mean) * inv_std * scale + bias, inv_std = 1 / sqrt(variance + epsilon)
// If centred is 0, the mean is 0 and the variance the mean square. Operands: x, scale[n], bias[n],
// out, mean[rows], inv_std[rows]. bias, mean and inv_std may be left out. out may be x.
typedef struct {
    int64_t rows, n;
    int64_t centred;  // flag
    int64_t x_type, scale_type, bias_type, out_type;
    int64_t stats_type;  // of mean and inv_std
    double epsilon;
    int64_t half;
} nacre_f32_layer_norm_words;

// Command: sum = x + skip + bias on rows of n, with row r % skip_rows of skip, then f32_layer_norm
// of sum with scale and beta. Operands: x, skip, scale, beta, bias, out, mean, inv_std, sum. beta,
// bias, mean, inv_std and sum may be left out. out may be x. mean and inv_std are floats.
typedef struct {
    int64_t rows, n, skip_rows;
    int64_t centred;  // flag
    int64_t type;     // of all other operands
    double epsilon;
    int64_t half;
} nacre_f32_skip_norm_words;

// Command: sum[batch * tokens, n] = the rows of three tables, of words, positions and segments, at
// given numbers. out is f32_layer_norm of sum, centred. Operands:
//     0 numbers of words[batch, tokens]
//     1 numbers of segments
//     2 table of words, 3 table of positions, 4 table of segments
//     5 scale[n], 6 bias[n]
//     7 mask[batch, tokens], integers
//     8 numbers of positions; if left out, they are 0, 1, 2, ...
//     9 out, 10 counts[batch] of int32: ones in the mask, 11 sum
// Segments, their table, mask, counts and sum may be left out. A number out of range of its table
// ends the run.
typedef struct {
    int64_t batch, tokens, n;
    // For words, positions and segments: rows of the table, bytes of a number, and how many numbers
    // there are before they repeat.
    int64_t rows[3], number_bytes[3], numbers[3];
    int64_t mask_bytes;  // of an element
    int64_t type;        // of tables, scale, bias, out and sum
    double epsilon;
    int64_t half;
} nacre_f32_embed_norm_words;

// Command: normalises [batch, channels, inner] to mean 0 and variance 1 over each of `groups`
// groups of neighbouring channels, then scales and shifts it by channel, or by channels / params
// neighbouring channels. channels is a multiple of groups and of params. Operands: x,
// scale[params], bias[params], out, which may be x.
typedef struct {
    int64_t batch, channels, inner;
    int64_t groups, params;
    int64_t type;  // of x and out
    int64_t scale_type, bias_type;
    double epsilon;
    int64_t half;
} nacre_f32_group_norm_words;

// Command: out = (x - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c] on [batch,
// channels, inner]. Operands: x, scale, bias, mean, variance, out, which may be x.
typedef struct {
    int64_t batch, channels, inner;
    int64_t type;  // of x and out
    int64_t param_type[4];
    double epsilon;
    int64_t half;
} nacre_f32_batch_norm_words;

// ---- f32_lrn ------------------------------------------------------------------

typedef struct {
    size_t size;  // channels of the window
    float alpha;  // already divided by size
    float beta, bias;
} nacre_lrn_params;

// For each c < cols, with x_k = x[k * stride + c] and k < channels:
//     out_k = x_k / (bias + alpha * sum of x_j^2)^beta
// over channels j from k - (size - 1) / 2 to k + size / 2 that exist. out is not x.
typedef void nacre_f32_lrn_fn(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p,
                              float *out);

// Command: f32_lrn on [batch, channels, inner]. Operands: x, out, which is not x.
typedef struct {
    int64_t batch, channels, inner;
    int64_t size;
    int64_t type;  // of x and out
    double alpha;  // already divided by size
    double beta, bias;
    int64_t half;
} nacre_f32_lrn_words;

// The entries of these commands.
extern const nacre_entry nacre_f32_softmax_turned_entry, nacre_f32_softmax_entry, nacre_f32_layer_norm_entry,
    nacre_f32_skip_norm_entry, nacre_f32_embed_norm_entry, nacre_f32_group_norm_entry, nacre_f32_batch_norm_entry,
    nacre_f32_lrn_entry;

#endif
