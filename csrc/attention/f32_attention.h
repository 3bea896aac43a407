// Code shared by the two ways to compute f32_attention.
#ifndef NACRE_ATTENTION_F32_ATTENTION_H
#define NACRE_ATTENTION_F32_ATTENTION_H

#include "attention/scores.h"
#include "core/simd.h"
#include "eltwise/eltwise.h"

enum {
    ATTENTION_GEMV = 4,     // queries per head up to which packing does not pay
    ATTENTION_WHOLE = 1024, // keys that few queries take in one part
    ATTENTION_PART = 512    // largest part if there are more keys
};

// The state of the scores of one query.
typedef struct {
    int64_t batch, head, query;
    size_t lo, hi;  // keys that it attends to
    float top, sum, factor;
} attention_row;

typedef struct {
    attention_args a;
    const nacre_f32_gemm_impl *gemm;
    const nacre_half *half;
    const nacre_f32_attention_impl *impl;
    nacre_unary_fn tanh;
    nacre_team *team;
    size_t group;  // heads of q per head of k
    size_t block;  // keys
    size_t ld;     // of scores
    size_t rows;   // largest number of rows of a piece of work
    size_t acc;    // elements of sums of a piece of work; 0 if the sums are in the output
    size_t per_thread;
    // gemv
    int by_head;    // a piece of work is a head of q, not of k
    size_t parts;   // of the keys
    float *joined;  // the results of each part of each query; NULL for one part
    // tiles
    size_t pieces;  // of the queries of a head
    size_t k_size, v_size;  // of a head, packed; 0 if it is read unpacked
    float *k_packed, *v_packed, *threads;
} attention_plan;

static inline size_t attention_ld(size_t block) { return nacre_align_floats(block) + 16; }

// Rows of scores, for the bias and for qk.
enum { ATTENTION_LINES = 2 };

static int attention_start(const nacre_call *c, attention_plan *p) {
    if (!attention_open(c, &p->a)) return 0;
    const nacre_attention_words *const w = p->a.w;
    p->gemm = nacre_f32_gemm_part(w->gemm);
    p->half = p->gemm->half();
    p->impl = ((nacre_f32_attention_fn *)c->kernel->fn)();
    p->tanh = (nacre_unary_fn)nacre_part_fn(w->tanh);
    p->team = c->team;
    p->group = w->kv_heads == 0 ? 1 : (size_t)(w->heads / w->kv_heads);
    return 1;
}

static inline const void *attention_at(const void *x, const nacre_attention_rows *r, int64_t batch, int64_t head,
                                       int64_t row) {
    return nacre_element_at(x, r->type, batch * r->batch + head * r->head + row * r->row);
}

static attention_row attention_begin(const attention_plan *p, int64_t batch, int64_t head, int64_t query) {
    const nacre_attention_words *const w = p->a.w;
    attention_row r = {.batch = batch, .head = head, .query = query, .top = -INFINITY};
    int64_t lo, hi;
    attention_range(&p->a, batch, query, &lo, &hi);
    if (hi > lo) {
        r.lo = (size_t)lo;
        r.hi = (size_t)hi;
    }
    if (w->sink != NACRE_SINK_NONE) {
        r.top = w->sink == NACRE_SINK_ZEROS ? 0 : (float)nacre_element_number(p->a.sink, w->sink_type, head);
        r.sum = 1;
    }
    return r;
}

// Sets line to the mask's addends for the scores of keys lo to hi - 1.
static void attention_mask_line(const attention_args *a, const attention_row *r, size_t lo, size_t hi, float *line) {
    const attention_mask m = attention_mask_of(a, r->batch, r->query);
    const float filter = (float)a->w->filter;
    const int64_t from = (int64_t)lo, to = (int64_t)hi, position = attention_position(a, r->batch, r->query);
    if (!m.list) {
        for (int64_t j = from; j < to; j++) line[j - from] = j >= m.begin && j < m.end ? 0 : filter;
    } else if (m.always == 0 && a->w->mask_type == NACRE_DTYPE_i32) {
        const int32_t *const list = (const int32_t *)a->mask + m.at;
        NACRE_SIMD for (int64_t j = from; j < to; j++) line[j - from] = list[j] > 0 ? 0 : filter;
    } else {
        for (int64_t j = from; j < to; j++) line[j - from] = attention_there(a, &m, j) ? 0 : filter;
    }
    if (!a->w->causal) return;
    NACRE_SIMD for (int64_t j = position < from ? from : position + 1; j < to; j++) line[j - from] = ATTENTION_LOWEST;
}

// Returns the addends for the scores of keys lo to hi - 1, or NULL if there are none. It uses line
// unless they are floats in memory.
static const float *attention_line(const attention_plan *p, const attention_row *r, size_t lo, size_t hi, float *line) {
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const int64_t col = w->bias_col, at = attention_bias_row(w, r->batch, r->head, r->query) + (int64_t)lo * col;
    if (a->mask != NULL) {
        attention_mask_line(a, r, lo, hi, line);
        if (a->bias == NULL) return line;
        for (size_t j = 0; j < hi - lo; j++) {
            line[j] += (float)nacre_element_bias(a->bias, w->bias_type, at + (int64_t)j * col);
        }
        return line;
    }
    if (a->bias == NULL) return NULL;
    const void *const from = nacre_element_at(a->bias, w->bias_type, at);
    if (col == 1 && w->bias_type == NACRE_DTYPE_f32) return from;
    if (col == 1 && (w->bias_type == NACRE_DTYPE_f16 || w->bias_type == NACRE_DTYPE_bf16)) {
        p->half->widen[w->bias_type](from, line, hi - lo);
    } else if (col == 1 && w->bias_type == NACRE_DTYPE_bool) {
        NACRE_SIMD for (size_t j = 0; j < hi - lo; j++) line[j] = ((const uint8_t *)from)[j] ? 0 : -INFINITY;
    } else {
        for (size_t j = 0; j < hi - lo; j++) {
            line[j] = (float)nacre_element_bias(a->bias, w->bias_type, at + (int64_t)j * col);
        }
    }
    return line;
}

// Writes scores s * gain of keys c0 to c1 - 1 to qk. line has room for them, and may be s.
static void attention_show(const attention_plan *p, const attention_row *r, const float *s, size_t c0, size_t c1,
                           float gain, float *line) {
    const nacre_attention_words *const w = p->a.w;
    char *const qk = (char *)attention_qk(&p->a, r->batch, r->head, r->query) + c0 * nacre_element_size(w->qk_type);
    float *const to = w->qk_type == NACRE_DTYPE_f32 ? (float *)(void *)qk : line;
    NACRE_SIMD for (size_t j = 0; j < c1 - c0; j++) {
        const float v = s[j] * gain;
        to[j] = w->qk_blank && v == -INFINITY ? 0 : v;
    }
    if (to == line) p->half->narrow[w->qk_type](line, qk, c1 - c0);
}

// Writes scores with their bias to qk, -infinity where the query does not attend.
static void attention_show_biased(const attention_plan *p, const attention_row *r, const float *s, size_t c0, size_t c1,
                                  size_t lo, size_t hi, float gain, const float *bias, float *line) {
    for (size_t j = c0; j < c1; j++) {
        line[j - c0] = j < lo || j >= hi ? -INFINITY : s[j - c0] * gain + (bias == NULL ? 0 : bias[j - lo]);
    }
    attention_show(p, r, line, c0, c1, 1, line);
}

// Turns the scores s of keys c0..c1-1 into weights, with zeros where the query does not attend.
// r->factor is the factor for everything weighted before. lines has ATTENTION_LINES rows of scores.
static void attention_scores(const attention_plan *p, attention_row *r, float *s, size_t c0, size_t c1, float *lines) {
    const nacre_attention_words *const w = p->a.w;
    const float none[2] = {0, 0}, gain = w->cap == 0 ? 1 : (float)w->cap;
    float *const line = lines, *const shown = lines + p->ld;
    const int stage = p->a.qk == NULL ? NACRE_QK_NONE : (int)w->qk_stage;
    if (stage == NACRE_QK_PRODUCT) attention_show(p, r, s, c0, c1, gain, shown);
    if (w->cap != 0) p->tanh(s, s, c1 - c0, none);
    if (stage == NACRE_QK_CAPPED) attention_show(p, r, s, c0, c1, gain, shown);
    const size_t lo = nacre_max(r->lo, c0), hi = nacre_min(r->hi, c1);
    const float *const bias = lo < hi ? attention_line(p, r, lo, hi, line) : NULL;
    if (stage == NACRE_QK_BIASED) attention_show_biased(p, r, s, c0, c1, lo, hi, gain, bias, shown);
    if (lo >= hi) {
        memset(s, 0, (c1 - c0) * sizeof *s);
        r->factor = 1;
        return;
    }
    r->factor = p->impl->row(s + (lo - c0), hi - lo, gain, bias, &r->top, &r->sum);
    memset(s, 0, (lo - c0) * sizeof *s);
    memset(s + (hi - c0), 0, (c1 - hi) * sizeof *s);
    if (stage == NACRE_QK_WEIGHTS) {
        NACRE_SIMD for (size_t j = 0; j < c1 - c0; j++) shown[j] = s[j] / r->sum;
        attention_show(p, r, shown, c0, c1, 1, shown);
    }
}

// Writes the sums, divided by the sum of the weights.
static void attention_end(const attention_plan *p, const attention_row *r, float *sums) {
    const nacre_attention_words *const w = p->a.w;
    const size_t dv = (size_t)w->dv;
    void *const out = (void *)(uintptr_t)attention_at(p->a.out, &w->out, r->batch, r->head, r->query);
    float *const to = w->out.type == NACRE_DTYPE_f32 ? out : sums;
    if (r->lo >= r->hi || r->sum == 0 || (w->nan == NACRE_NAN_ZEROED && isnan(r->sum))) {
        const float none = w->nan == NACRE_NAN_KEPT && r->lo < r->hi ? NAN : 0;
        NACRE_SIMD for (size_t i = 0; i < dv; i++) to[i] = none;
        if (p->a.qk != NULL && w->qk_stage == NACRE_QK_WEIGHTS) {
            memset(attention_qk(&p->a, r->batch, r->head, r->query), 0,
                   (size_t)w->qk_cols * nacre_element_size(w->qk_type));
        }
    } else {
        const float scale = 1 / r->sum;
        NACRE_SIMD for (size_t i = 0; i < dv; i++) to[i] = sums[i] * scale;
    }
    if (to == sums && w->out.type != NACRE_DTYPE_f32) p->half->narrow[w->out.type](sums, out, dv);
}

// Sets the range of keys that any of the rows attends to, or all keys if qk is asked for.
static void attention_rows_range(const attention_plan *p, const attention_row *rows, size_t n, size_t *lo, size_t *hi) {
    *lo = (size_t)p->a.keys;
    *hi = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].lo >= rows[i].hi) continue;
        *lo = nacre_min(*lo, rows[i].lo);
        *hi = nacre_max(*hi, rows[i].hi);
    }
    if (p->a.qk != NULL) {
        *lo = 0;
        *hi = (size_t)p->a.keys;
    }
}

#endif
