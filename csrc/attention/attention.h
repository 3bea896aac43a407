// Attention and what stands around it in transformers: caches of keys and values,
// rotary embeddings, linear attention, causal convolutions with state.
//
// Types of elements are numbers of attention/elements.h. Strides are in elements.
// A part half is a row of op half, gemm one of op f32_gemm.
#ifndef NACRE_ATTENTION_ATTENTION_H
#define NACRE_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attention/elements.h"
#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "half/half.h"
#include "matmul/matmul.h"

const nacre_kernel *nacre_attention_kernels(size_t *count);

// ---- functions of rows --------------------------------------------------------

// One step of a softmax that sees its row in pieces. With top the
// largest score so far and sum the sum of exp(score - top) over those so far:
//     x[j] = exp(x[j] * gain + bias[j] - new top), for j < n; a bias of NULL is zeros
// and top and sum take the piece in. Returns exp(old top - new top), by which
// whatever was weighted before is to be scaled. A row without any score has a
// top of -inf and a sum of 0.
typedef float nacre_f32_online_softmax_fn(float *x, size_t n, float gain, const float *bias, float *top, float *sum);

// The least score whose product with log2(e) is finite. Biased scores below it, such as
// those of masks that hold the least number, count as it; -inf is no score.
#define NACRE_LEAST_SCORE (-0x1.62e42cp127f)

// The same step for the rows of a tile, which lie side by side: x[j * width + i] is key j
// of row i, and so is bias. Row i takes keys j with lo[i] <= j < hi[i], and the weights of
// others are 0; every row takes those with from <= j < to. top is in powers of 2: the largest
// score times log2(e). The ld_sums elements from sums[i * ld_sums] on are scaled, for i < rows;
// NULL for none. ld_sums is a multiple of the lanes.
typedef struct {
    size_t n, width;
    float *x;
    float gain;
    const float *bias, *lo, *hi;  // bias is NULL for none
    size_t from, to;              // from <= to <= n
    float *top, *sum;
    float *sums;
    size_t ld_sums, rows;
} nacre_softmax_columns;

// What rows of op f32_attention return.
typedef struct {
    size_t lanes;  // the width of a tile is a multiple of these
    nacre_f32_online_softmax_fn *row;
    void (*columns)(const nacre_softmax_columns *c);
} nacre_f32_attention_impl;
typedef const nacre_f32_attention_impl *nacre_f32_attention_fn(void);

// Op f32_rotary: n pairs of one head, rotated by the angles whose cosines and
// sines are given. Pair i is elements i and n + i, or 2i and 2i + 1 if
// interleaved. out may be x.
typedef void nacre_f32_rotary_fn(const float *x, size_t n, const float *cos, const float *sin, bool interleaved, float *out);

// Op f32_linear_attention: one token on a state of dk rows of dv.
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
} nacre_linear_attention_token;
// The state's rows are scaled; then k v^T is added, or k (beta (v - state^T k))^T;
// out[h,:] = scale * state^T q_h.
typedef void nacre_f32_linear_attention_fn(const nacre_linear_attention_token *t, float *state, float *out);

// Op f32_causal_conv: out[t] = act(bias + sum_j w[j] x[t + j * step]) for t < n,
// j < taps; act is x / (1 + exp(-x)) if silu.
typedef void nacre_f32_causal_conv_fn(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias, bool silu,
                                      float *out);

// ---- lengths ------------------------------------------------------------------

// Command attention_lengths reads how many keys there are. Operand 2, int64, takes
// per batch the position of query 0, then per batch the number of keys that are
// there, then the number of keys of all batches; below, these are the lengths.
enum {
    // Operand 0 has per batch the position of its last key, operand 1 the number of keys
    // of all. With as many new tokens as that all positions begin at 0.
    NACRE_LENGTHS_LAST,
    // Operand 0 has per batch its number of keys. Query 0 stands at past, or with `ends`
    // so that the last query meets the last key.
    NACRE_LENGTHS_KEYS,
    // Operand 0 is the number of keys before the new ones.
    NACRE_LENGTHS_PAST
};
typedef struct {
    int64_t kind, batch, tokens;
    int64_t room;       // keys that there are at most
    int64_t past;       // keys that the past has at most; of KEYS, keys before the new ones
    int64_t ends;
    int64_t types[2];   // of the operands
} nacre_attention_lengths_words;

// ---- appending ------------------------------------------------------------------

// Command attention_append: a cache[batch, heads, room, d] of rows that past has, of
// the new rows x + bias behind them, and of zeros. Operands are past, x, bias, lengths
// and cache; past, bias and lengths may be left out. How many rows of the past
// count, the lengths tell as the position of query 0, or else the word past.
// The cache may be past: only the new rows are written then, at no cost that depends
// on the past, and rows behind them stay. x and bias do not overlap the cache.
typedef struct {
    int64_t half;  // part
    int64_t batch, heads, rows, d;
    int64_t x_type, x_batch, x_head, x_row;
    int64_t bias_type, bias_head;  // from one head's d elements to the next
    int64_t type;                  // of past and cache; others are converted, with a bias to float32 first
    int64_t past, past_batch, past_head;
    int64_t cache_batch, cache_head, room;
} nacre_attention_append_words;

// ---- attention ----------------------------------------------------------------

enum { NACRE_QK_NONE = -1, NACRE_QK_PRODUCT, NACRE_QK_CAPPED, NACRE_QK_BIASED, NACRE_QK_WEIGHTS };

// Forms of integers that say which keys are there. A key that is not adds `filter` to
// its score, one behind a causal query the least float, so that a query without
// any key has weights still.
enum {
    NACRE_MASK_NONE,
    NACRE_MASK_ENDS,    // [batch]: keys before
    NACRE_MASK_RANGES,  // [2, batch]: keys before the first and from the second on
    NACRE_MASK_KEYS,    // [batch, cols]: positive for keys that are there; cols are all keys or the new ones
    NACRE_MASK_ROWS,    // [batch, queries, cols]
    NACRE_MASK_SQUARE   // [batch, cols, cols], by positions
};

// Rows of d elements that follow each other.
typedef struct {
    int64_t type, batch, head, row;
} nacre_attention_rows;

// Commands f32_attention and f64_attention:
//     out = softmax(cap(scale q k^T) + bias) v for each batch and head
// with cap(x) = c tanh(x / c). Heads of q share those of k and v in runs of
// heads / kv_heads. A query attends to the keys from position + 1 - window (0
// without window) to the last that is there, or to its own position if causal and
// that is less; one that attends to none gives zeros.
// Operands are q, k, v, lengths, bias, mask, sink, out and qk; those from lengths to
// sink and qk may be left out. Without lengths query 0 stands at past and all kv_len
// keys are there. out may not overlap another operand.
typedef struct {
    int64_t gemm, tanh;  // parts; tanh is looked at if cap is not 0
    int64_t batch, heads, kv_heads, q_len, kv_len, d, dv;
    nacre_attention_rows q, k, v, out;
    double scale, cap;
    int64_t past, causal, window;  // window 0 for none
    // What is added to scores, of any type; strides of 0 where it is shared. Keys
    // beyond the last column are left out; none with bias_cols -1.
    int64_t bias_type, bias_batch, bias_head, bias_row, bias_col, bias_cols;
    int64_t mask, mask_type, mask_cols;
    double filter;
    // Per head a score that takes part without a value; 1 for zeros, 2 for operand sink.
    int64_t sink, sink_type;
    // qk[batch, heads, q_len, qk_cols] takes scores at that stage; with qk_blank 0 for
    // -infinity.
    int64_t qk_stage, qk_type, qk_cols, qk_blank;
    int64_t nan;
} nacre_attention_words;
// What becomes of a query whose scores are all -infinity, so that its softmax is NaN: it gives
// zeros; NaN; or zeros, and so does a query with a score of NaN.
enum { NACRE_NAN_NONE, NACRE_NAN_KEPT, NACRE_NAN_ZEROED };
enum { NACRE_SINK_NONE, NACRE_SINK_ZEROS, NACRE_SINK_GIVEN };

// ---- rotary embeddings ------------------------------------------------------------

// Which row of the caches a token of a batch takes.
enum {
    NACRE_ROTARY_TOKENS,     // batch * tokens + token
    NACRE_ROTARY_POSITIONS,  // index[batch, token]
    NACRE_ROTARY_OFFSET,     // index[0] + token
    NACRE_ROTARY_BATCHES     // index[batch] + token; without index, past + token
};

// Command f32_rotary: the first 2 * pairs elements of each head are rotated, the rest
// are copied. Operands are x, cos, sin, index, norm and out; the middle ones may be
// left out. With norm, of d elements, heads are first divided by the root of the mean of
// their squares and multiplied by it. Without cos, pair i of position p turns by
// p / base^(i / pairs). out may be x if their strides agree.
typedef struct {
    int64_t half;  // part
    int64_t batch, heads, tokens, d, pairs;
    nacre_attention_rows x, out;
    int64_t interleaved;
    int64_t norm_type;
    double epsilon;
    int64_t angle_type, angle_rows;  // of cos and sin, whose rows have pairs elements
    double base;
    int64_t index, index_type, past;
} nacre_rotary_words;

// ---- others ---------------------------------------------------------------------

// Command f32_linear_attention: a recurrence over the tokens of q[batch, tokens, heads *
// dk] and so on, whose state is [batch, kv_heads, dk, dv]. With fewer heads of q than
// of the state each serves a run of them. decay has kv_heads or kv_heads * dk logarithms
// per token, beta kv_heads or 1. Operands are q, k, v, past, decay, beta, out[batch,
// tokens, max(heads, kv_heads) * dv] and present; past, decay, beta and present may
// be left out. past and present are [window, ...] states after the last tokens,
// the last one last, zeros before the first token; without window they are one state.
// present may be past.
typedef struct {
    int64_t half;  // part
    int64_t batch, tokens, heads, kv_heads, dk, dv;
    int64_t type, state_type;
    int64_t decay_type, decay_cols, beta_type, beta_cols;
    double scale;
    int64_t window;  // 0 for none
} nacre_linear_attention_words;

// Command f32_causal_conv: depthwise convolution of x[batch, channels, n], before which
// stand the (taps - 1) * step elements of past, or zeros; present takes the last
// of both. Operands are x, w[channels, taps], bias, past, out and present; bias, past
// and present may be left out. present may be past.
typedef struct {
    int64_t half;  // part
    int64_t batch, channels, n, taps, step;
    int64_t type, silu;
} nacre_causal_conv_words;

// Command tensor_scatter: rows of `bytes` of update[batch, outer, rows] over those of
// cache[batch, outer, room] from index[batch] on, or from 0; circular rows go on at 0
// behind the last. Operands are cache, update, index and out, which may be cache.
typedef struct {
    int64_t batch, outer, room, rows, bytes;
    int64_t circular, index_type;
} nacre_tensor_scatter_words;

#endif
