// Attention and the other operators of transformers: caches of keys and values, rotary embeddings,
// linear attention, causal convolutions with state.
//
// Types of elements are numbers of attention/elements.h. Strides are in elements. k, v and caches may
// be int8: rows of codes with a scale for each block. A part half is a kernel row of op half, gemm
// one of op f32_gemm.
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

// One step of a softmax over a row that comes in pieces. top is the largest score so far and sum
// the sum of exp(score - top) so far. It sets
//     x[j] = exp(x[j] * gain + bias[j] - new top), for j < n; a bias of NULL is zeros
// and updates top and sum by the piece. It returns exp(old top - new top), the factor for
// everything that was weighted before. A row without any score has a top of -inf and a sum of 0.
typedef float nacre_f32_online_softmax_fn(float *x, size_t n, float gain, const float *bias, float *top, float *sum);

// The least score with a finite product by log2(e). Biased scores below it, such as those of masks
// with the least number, count as it; -inf is no score.
#define NACRE_LEAST_SCORE (-0x1.62e42cp127f)

// The same step for the rows of a tile, which are adjacent: x[j * width + i] is key j of row i, and
// bias has the same layout. Row i takes keys j with lo[i] <= j < hi[i]; the weights of others are
// 0. Every row takes the keys with from <= j < to. top is in powers of 2: the largest score times
// log2(e). For i < rows, the ld_sums elements from sums[i * ld_sums] on are scaled; sums may be
// NULL. ld_sums is a multiple of the lanes.
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

enum { ATTENTION_KEYS = 16 };  // keys that the queries of a group of heads take in turn

// Rows of a cache of int8, for the queries of a group of heads.
typedef struct {
    size_t d, n;  // elements of a row; rows, up to ATTENTION_KEYS
    const char *rows;
    size_t step;    // bytes from one row to the next
    float *scales;  // scratch: ATTENTION_KEYS for each block of a row
} nacre_attention_codes;

// Sets s[i * ld + j] to the product of query i, q[i * d + e], and row j.
typedef void nacre_codes_scores_fn(const nacre_attention_codes *c, const float *q, size_t queries, float *s, size_t ld);

// Adds weights[i * ld + j] times row j to sums[i][e]. Row i of weights has ATTENTION_KEYS elements in
// memory.
typedef void nacre_codes_weigh_fn(const nacre_attention_codes *c, const float *weights, size_t ld, size_t queries,
                                  float *const *sums);

// The functions that kernel rows of op f32_attention return.
typedef struct {
    size_t lanes;  // divides the width of a tile
    nacre_f32_online_softmax_fn *row;
    void (*columns)(const nacre_softmax_columns *c);
    nacre_codes_scores_fn *codes_scores;
    nacre_codes_weigh_fn *codes_weigh;
} nacre_f32_attention_impl;
typedef const nacre_f32_attention_impl *nacre_f32_attention_fn(void);

// Op f32_rotary: rotates n pairs of one head by the angles with the given cosines and sines. Pair i
// is elements i and n + i, or 2i and 2i + 1 if interleaved. out may be x.
typedef void nacre_f32_rotary_fn(const float *x, size_t n, const float *cos, const float *sin, bool interleaved,
                                 float *out);

// Op f32_linear_attention: one token on a state of dk rows of dv.
typedef struct {
    size_t dk, dv;
    const float *k, *v;
    const float *decay;  // factors of the state's rows, or NULL
    size_t decay_step;   // 0 if the rows share one factor, else 1
    const float *beta;   // NULL to add v unchanged
    size_t queries;      // number of queries that read the state; q_step elements from one to the next
    const float *q;
    size_t q_step;
    float scale;
} nacre_linear_attention_token;
// Scales the state's rows by decay, then adds k v^T, or k (beta (v - state^T k))^T, and sets
// out[h,:] = scale * state^T q_h.
typedef void nacre_f32_linear_attention_fn(const nacre_linear_attention_token *t, float *state, float *out);

// Op f32_causal_conv: out[t] = act(bias + sum_j w[j] x[t + j * step]) for t < n, j < taps; act is x
// / (1 + exp(-x)) if silu.
typedef void nacre_f32_causal_conv_fn(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias,
                                      bool silu, float *out);

// ---- lengths ------------------------------------------------------------------

// Command attention_lengths computes the lengths, for which operand 2, int64, has: the position of
// query 0 per batch, then the number of existing keys per batch, then the number of keys of all
// batches.
enum {
    // Operand 0 has per batch the position of its last key, operand 1 the number of keys of all. If
    // there are as many new tokens as keys, all positions begin at 0.
    NACRE_LENGTHS_LAST,
    // Operand 0 has per batch its number of keys. Query 0 is at position past or, with `ends`, so
    // that the last query meets the last key.
    NACRE_LENGTHS_KEYS,
    // Operand 0 is the number of keys before the new ones.
    NACRE_LENGTHS_PAST
};
typedef struct {
    int64_t kind, batch, tokens;
    int64_t room;       // largest number of keys
    int64_t past;       // largest number of keys of the past; for KEYS, keys before the new ones
    int64_t ends;
    int64_t types[2];   // of the operands
} nacre_attention_lengths_words;

// ---- appending ------------------------------------------------------------------

// Command attention_append: writes a cache[batch, heads, room, d] of the rows of past, then the new
// rows x + bias, then zeros. Operands are past, x, bias, lengths and cache; past, bias and lengths
// may be absent. The number of rows of the past that count is the position of query 0 in lengths,
// or else the word past. The cache may be past: then only the new rows are written, at a cost that
// does not depend on the past, and rows after them are unchanged. x and bias do not overlap the
// cache.
typedef struct {
    int64_t half;  // part
    int64_t batch, heads, rows, d;
    int64_t x_type, x_batch, x_head, x_row;
    int64_t bias_type, bias_head;  // from one head's d elements to the next
    int64_t type;                  // of past and cache; others are converted, via float32 if there is a bias or int8
    int64_t past, past_batch, past_head;
    int64_t cache_batch, cache_head, room;
} nacre_attention_append_words;

// Command codes_widen: converts a cache of int8 [heads, rows, row of d] to elements [heads, rows, d]
// of float type `type`. Operands are the cache and out.
typedef struct {
    int64_t half;  // part
    int64_t heads, rows, d;
    int64_t head;  // bytes from one head of the cache to the next
    int64_t type;
} nacre_codes_widen_words;

// ---- attention ----------------------------------------------------------------

enum { NACRE_QK_NONE = -1, NACRE_QK_PRODUCT, NACRE_QK_CAPPED, NACRE_QK_BIASED, NACRE_QK_WEIGHTS };

// Forms of integer masks that say which keys exist. A key that does not exist adds `filter` to its
// score, and a key after a causal query the least float, so that a query without any key still has
// weights.
enum {
    NACRE_MASK_NONE,
    NACRE_MASK_ENDS,    // [batch]: keys before this one
    NACRE_MASK_RANGES,  // [2, batch]: keys before the first number and from the second on
    NACRE_MASK_KEYS,    // [batch, cols]: positive for keys that exist; cols are all keys or the new ones
    NACRE_MASK_ROWS,    // [batch, queries, cols]
    NACRE_MASK_SQUARE   // [batch, cols, cols], by positions
};

// Consecutive rows of d elements.
typedef struct {
    int64_t type, batch, head, row;
} nacre_attention_rows;

// Commands f32_attention and f64_attention:
//     out = softmax(cap(scale q k^T) + bias) v for each batch and head
// with cap(x) = c tanh(x / c). Each head of k and v serves a run of heads / kv_heads heads of q. A
// query attends to the keys from position + 1 - window (0 without window) to the last that exists,
// or to its own position if causal and that is less. A query that attends to no key gives zeros.
// Operands are q, k, v, lengths, bias, mask, sink, out and qk; those from lengths to sink and qk
// may be absent. Without lengths, query 0 is at position past and all kv_len keys exist. out may
// not overlap another operand.
typedef struct {
    int64_t gemm, tanh;  // parts; tanh is used if cap is not 0
    int64_t batch, heads, kv_heads, q_len, kv_len, d, dv;
    nacre_attention_rows q, k, v, out;
    double scale, cap;
    int64_t past, causal, window;  // window 0 for none
    // Added to scores, of any type; strides are 0 where it is shared. Keys beyond the last column
    // are left out, or none if bias_cols is -1.
    int64_t bias_type, bias_batch, bias_head, bias_row, bias_col, bias_cols;
    int64_t mask, mask_type, mask_cols;
    double filter;
    // A score per head that takes part without a value; 1 for zeros, 2 for operand sink.
    int64_t sink, sink_type;
    // qk[batch, heads, q_len, qk_cols] gets the scores of that stage; if qk_blank, 0 replaces
    // -infinity.
    int64_t qk_stage, qk_type, qk_cols, qk_blank;
    int64_t nan;
} nacre_attention_words;
// The result of a query with scores that are all -infinity, so that its softmax is NaN: zeros; NaN;
// or zeros, as for a query with a score of NaN.
enum { NACRE_NAN_NONE, NACRE_NAN_KEPT, NACRE_NAN_ZEROED };
enum { NACRE_SINK_NONE, NACRE_SINK_ZEROS, NACRE_SINK_GIVEN };

// ---- rotary embeddings ------------------------------------------------------------

// The row of the caches that a token of a batch takes.
enum {
    NACRE_ROTARY_TOKENS,     // batch * tokens + token
    NACRE_ROTARY_POSITIONS,  // index[batch, token]
    NACRE_ROTARY_OFFSET,     // index[0] + token
    NACRE_ROTARY_BATCHES     // index[batch] + token; past + token without index
};

// Command f32_rotary: rotates the first 2 * pairs elements of each head and copies the rest.
// Operands are x, cos, sin, index, norm and out; the middle ones may be absent. With norm, of d
// elements, heads are first divided by the root of the mean of their squares and multiplied by
// norm. Without cos, pair i of position p turns by p / base^(i / pairs). out may be x if their
// strides agree.
typedef struct {
    int64_t half;  // part
    int64_t batch, heads, tokens, d, pairs;
    nacre_attention_rows x, out;
    int64_t interleaved;
    int64_t norm_type;
    double epsilon;
    int64_t angle_type, angle_rows;  // of cos and sin, with rows of pairs elements
    double base;
    int64_t index, index_type, past;
} nacre_rotary_words;

// ---- others ---------------------------------------------------------------------

// Command f32_linear_attention: a recurrence over the tokens of q[batch, tokens, heads * dk] and so
// on, with a state [batch, kv_heads, dk, dv]. If q has fewer heads than the state, each head of q
// serves a run of heads of the state. decay has kv_heads or kv_heads * dk logarithms per token,
// beta kv_heads or 1. Operands are q, k, v, past, decay, beta, out[batch, tokens, max(heads,
// kv_heads) * dv] and present; past, decay, beta and present may be absent. past and present are
// [window, ...] states after the last tokens, the last one last, zeros before the first token;
// without window they are one state. present may be past.
typedef struct {
    int64_t half;  // part
    int64_t batch, tokens, heads, kv_heads, dk, dv;
    int64_t type, state_type;
    int64_t decay_type, decay_cols, beta_type, beta_cols;
    double scale;
    int64_t window;  // 0 for none
} nacre_linear_attention_words;

// Command f32_causal_conv: depthwise convolution of x[batch, channels, n], preceded by the (taps -
// 1) * step elements of past, or zeros. present gets the last elements of both. Operands are x,
// w[channels, taps], bias, past, out and present; bias, past and present may be absent. present may
// be past.
typedef struct {
    int64_t half;  // part
    int64_t batch, channels, n, taps, step;
    int64_t type, silu;
} nacre_causal_conv_words;

// Command tensor_scatter: copies rows of `bytes` of update[batch, outer, rows] over rows of
// cache[batch, outer, room] from index[batch] on, or from 0; circular rows continue at 0 after the
// last. Operands are cache, update, index and out, which may be cache.
typedef struct {
    int64_t batch, outer, room, rows, bytes;
    int64_t circular, index_type;
} nacre_tensor_scatter_words;

#endif
