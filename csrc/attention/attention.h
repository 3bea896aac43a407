// Attention and what stands around it in transformers: rotary embeddings,
// linear attention, causal convolutions with state.
#ifndef NACRE_ATTENTION_ATTENTION_H
#define NACRE_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/parallel.h"
#include "eltwise/eltwise.h"
#include "matmul/matmul.h"

const nacre_kernel *nacre_attention_kernels(size_t *count);

// ---- kernels ----------------------------------------------------------------

// Op f32_attend: one step of a softmax that sees its row in pieces. With top the
// largest score so far and sum the sum of exp(score - top) over those so far:
//     x[j] = exp(x[j] * gain + bias[j] - new top), for j < n; a bias of NULL is zeros
// and top and sum take the piece in. Returns exp(old top - new top), by which
// whatever was weighted before is to be scaled. A row without any score has a
// top of -inf and a sum of 0.
typedef float nacre_f32_attend_fn(float *x, size_t n, float gain, const float *bias, float *top, float *sum);

// Op f32_rotate: n pairs of one head, turned by the angles whose cosines and
// sines are given. Pair i is elements i and n + i, or 2i and 2i + 1 if
// interleaved. out may be x.
typedef void nacre_f32_rotate_fn(const float *x, size_t n, const float *cos, const float *sin, bool interleaved, float *out);

// Op f32_recur: one token of linear attention on a state of dk rows of dv.
typedef struct {
    size_t dk, dv;
    const float *k, *v;
    const float *decay;  // factors of the state's rows; NULL for none
    size_t decay_step;   // 0 if the rows share one factor, else 1
    const float *beta;   // NULL: v is added as it is
    size_t queries;      // that read the state, and the elements from one to the next
    const float *q;
    size_t q_step;
    float scale;
} nacre_recur_token;
// The state's rows are scaled; then k v^T is added, or k (beta (v - state^T k))^T;
// out[h,:] = scale * state^T q_h.
typedef void nacre_f32_recur_fn(const nacre_recur_token *t, float *state, float *out);

// Op f32_causal_conv: out[t] = act(bias + sum_j w[j] x[t + j * step]) for t < n,
// j < taps; act is x / (1 + exp(-x)) if silu.
typedef void nacre_f32_causal_conv_fn(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias, bool silu,
                                      float *out);

// ---- attention ----------------------------------------------------------------

// Rows of d elements that follow each other; strides are in elements.
typedef struct {
    const void *data;
    nacre_float_type type;
    size_t batch, head, row;
} nacre_attention_rows;

enum { NACRE_QK_NONE = -1, NACRE_QK_PRODUCT, NACRE_QK_CAPPED, NACRE_QK_BIASED, NACRE_QK_WEIGHTS };

// out = softmax(cap(scale q k^T) + bias) v for each batch and head, cap(x) being
// c tanh(x / c). Heads of q share those of k and v in runs of heads / kv_heads.
// A query attends to the keys from position + 1 - window (0 without window) to
// valid - 1, or to its own position if causal and that is less; one that attends
// to none gives zeros.
typedef struct {
    const nacre_f32_gemm_impl *gemm;
    nacre_f32_attend_fn *attend;
    nacre_unary_fn tanh;  // of op f32_tanh; looked at if cap is not 0
    size_t batch, heads, kv_heads, q_len, kv_len, d, dv;
    nacre_attention_rows q, k, v;
    float *out;
    size_t out_batch, out_head, out_row;
    float scale, cap;
    const float *bias;  // NULL for none; strides of 0 where it is shared
    size_t bias_batch, bias_head, bias_row, bias_cols;  // keys beyond the last column are left out
    const int64_t *first;  // per batch: the position of query 0
    const int64_t *valid;  // per batch: keys that are there, at most kv_len
    bool causal;
    size_t window;      // 0 for none
    const float *sink;  // per head: a score that takes part without a value; NULL for none
    float *qk;          // [batch, heads, q_len, kv_len] at the stage told
    int qk_stage;
} nacre_attention;

// Elements of scratch, at a multiple of 64 bytes, for a pool of that many threads.
size_t nacre_attention_scratch(const nacre_attention *a, size_t threads);
void nacre_attention_run(const nacre_attention *a, nacre_team *team, float *scratch);

// ---- others ---------------------------------------------------------------------

// Rows of heads x d: the first 2 * pairs elements of each head are turned, the
// rest copied. Token t of a batch has row index[batch * index_batch + t * index_row]
// of the caches, whose rows have pairs elements; a row for each token without index.
typedef struct {
    nacre_f32_rotate_fn *rotate;
    size_t batch, heads, tokens, d, pairs;
    size_t x_batch, x_head, x_row, out_batch, out_head, out_row;
    bool interleaved;
    const float *cos, *sin;
    const int64_t *index;
    size_t index_batch, index_row;
} nacre_rotary;
void nacre_rotary_run(const nacre_rotary *r, nacre_team *team, const float *x, float *out);

// Linear attention over the tokens of q[batch, tokens, heads * dk] and so on. The
// state [batch, kv_heads, dk, dv] is read and written; with fewer heads of q than
// of the state each serves a run of them. decay has kv_heads or kv_heads * dk
// logarithms per token, beta kv_heads or 1. The states after the last tokens also
// go to window slots, the last of which is the last token's; slots without a
// token are cleared.
typedef struct {
    nacre_f32_recur_fn *recur;
    size_t batch, tokens, heads, kv_heads, dk, dv;
    const float *q, *k, *v;
    const float *decay;
    size_t decay_cols;
    const float *beta;
    size_t beta_cols;
    float scale;
    float *state;
    float *slots;
    size_t window;
    float *out;  // [batch, tokens, max(heads, kv_heads) * dv]
} nacre_linear_attention;
// scratch: dk elements per thread.
void nacre_linear_attention_run(const nacre_linear_attention *a, nacre_team *team, float *scratch);

// Depthwise convolution of x[batch, channels, n], before which stand the
// (taps - 1) * step elements of past, or zeros; present takes the last of both.
typedef struct {
    nacre_f32_causal_conv_fn *conv;
    size_t batch, channels, n, taps, step;
    const float *x, *w, *bias, *past;
    bool silu;
    float *out, *present;
} nacre_causal_conv;
// scratch: 2 * (taps - 1) * step elements per thread.
void nacre_causal_conv_run(const nacre_causal_conv *c, nacre_team *team, float *scratch);

#endif
