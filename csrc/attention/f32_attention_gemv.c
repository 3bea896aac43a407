// Attention of too few queries for packing keys and values: the heads that share these go along
// them unpacked. Many keys are cut into parts, and the results of these are joined in order. Parts
// do not depend on the threads, so results do not.
#include <math.h>

#include "attention/f32_attention.h"
#include "core/simd.h"

// Returns the parts of that many keys; one if scores are written to qk.
static size_t gemv_parts(const nacre_attention_words *w, size_t keys) {
    return keys <= ATTENTION_WHOLE || w->qk_stage != NACRE_QK_NONE ? 1 : nacre_ceil_div(keys, ATTENTION_PART);
}

// Returns the largest part for that many keys or fewer.
static size_t gemv_most_part(const nacre_attention_words *w, size_t keys) {
    return nacre_round_up(nacre_max(w->qk_stage != NACRE_QK_NONE ? keys : nacre_min(keys, ATTENTION_WHOLE), 1),
                          ATTENTION_KEYS);
}

// Returns the floats of a query's result of a part: sums of values, the largest score and the sum
// of weights.
static inline size_t gemv_joint(const nacre_attention_words *w) { return nacre_align_floats((size_t)w->dv + 2); }

static size_t gemv_joined(const nacre_attention_words *w, size_t parts) {
    return parts == 1 ? 0 : (size_t)(w->batch * w->heads * w->q_len) * parts * gemv_joint(w);
}

static float *gemv_join_at(const attention_plan *p, const attention_row *r, size_t part) {
    const nacre_attention_words *const w = p->a.w;
    const size_t i = (size_t)((r->batch * w->heads + r->head) * w->q_len + r->query);
    return p->joined + (i * p->parts + part) * gemv_joint(w);
}

static inline size_t gemv_acc(const nacre_attention_words *w, size_t rows) {
    return w->out.type == NACRE_DTYPE_f32 ? 0 : nacre_align_floats(rows * (size_t)w->dv);
}

// Returns the place of the sums of row i of a piece of work: in the output, at acc, or with the
// part.
static float *gemv_sums(const attention_plan *p, const attention_row *r, float *acc, size_t i, size_t part) {
    const nacre_attention_words *const w = p->a.w;
    if (p->parts > 1) return gemv_join_at(p, r, part);
    if (p->acc == 0) return (float *)(uintptr_t)attention_at(p->a.out, &w->out, r->batch, r->head, r->query);
    return acc + i * (size_t)w->dv;
}

static size_t gemv_per_thread(const nacre_attention_words *w, size_t rows, size_t ld) {
    const size_t d = (size_t)w->d, dv = (size_t)w->dv;
    const size_t n = (rows + ATTENTION_LINES) * ld + rows * (d + sizeof(attention_row) / sizeof(float)) +
        ATTENTION_KEYS * nacre_max(d, dv);
    return nacre_align_floats(n) + gemv_acc(w, rows);
}

// Returns n rows of k or v from t on as floats.
static const float *gemv_rows(const attention_plan *p, const void *x, const nacre_attention_rows *r, int64_t b,
                              int64_t h, size_t t, size_t n, size_t d, float *wide, size_t *ld) {
    const void *const from = attention_at(x, r, b, h, (int64_t)t);
    if (r->type == NACRE_DTYPE_f32) {
        *ld = (size_t)r->row;
        return from;
    }
    const size_t whole = (size_t)r->row == d ? n : 1;  // rows that are widened at once
    for (size_t i = 0; i < n; i += whole) {
        p->half->widen[r->type](nacre_element_at(from, r->type, (int64_t)i * r->row), wide + i * d, whole * d);
    }
    *ld = d;
    return wide;
}

// Prefetches the share of query i of n in the rows from t on, up to end, which the queries take
// next.
static inline void gemv_fetch(const void *x, const nacre_attention_rows *r, int64_t b, int64_t h, size_t t, size_t end,
                              size_t d, size_t i, size_t n) {
    enum { LINE = 64 };
    const size_t bytes = d * nacre_element_size(r->type), last = nacre_min(t + ATTENTION_KEYS * (i + 1) / n, end);
    for (size_t row = t + ATTENTION_KEYS * i / n; n > 1 && row < last; row++) {
        const char *const at = attention_at(x, r, b, h, (int64_t)row);
        for (size_t e = 0; e < bytes; e += LINE) __builtin_prefetch(at + e);
    }
}

// A piece of work: queries that share keys and values, and a part of the keys.
typedef struct {
    size_t n, part;
    int64_t batch, kv;
    attention_row *rows;
    float *s, *lines, *q, *wide, *acc;
} gemv_piece;

static void gemv_begin(const attention_plan *p, size_t chunk, size_t thread, gemv_piece *x) {
    const nacre_attention_words *const w = p->a.w;
    const size_t per_batch = (size_t)(p->by_head ? w->heads : w->kv_heads), q_len = (size_t)w->q_len, d = (size_t)w->d;
    const size_t heads = chunk / p->parts, h0 = heads % per_batch * (p->by_head ? 1 : p->group);
    const float scale = w->cap == 0 ? (float)w->scale : (float)w->scale / (float)w->cap;
    x->n = p->rows;
    x->part = chunk % p->parts;
    x->batch = (int64_t)(heads / per_batch);
    x->kv = (int64_t)(h0 / p->group);
    x->rows = (attention_row *)(void *)(p->threads + thread * p->per_thread);
    x->s = (float *)(void *)(x->rows + x->n);
    x->lines = x->s + x->n * p->ld;
    x->q = x->lines + ATTENTION_LINES * p->ld;
    x->wide = x->q + x->n * d;
    x->acc = p->threads + (thread + 1) * p->per_thread - p->acc;
    for (size_t i = 0; i < x->n; i++) {
        attention_row *const r = &x->rows[i];
        *r = attention_begin(p, x->batch, (int64_t)(h0 + i / q_len), (int64_t)(i % q_len));
        if (x->part > 0) {  // a sink belongs to the first part
            r->top = -INFINITY;
            r->sum = 0;
        }
        p->half->widen[w->q.type](attention_at(p->a.q, &w->q, x->batch, r->head, r->query), x->q + i * d, d);
        NACRE_SIMD for (size_t e = 0; e < d; e++) x->q[i * d + e] *= scale;
        memset(gemv_sums(p, r, x->acc, i, x->part), 0, (size_t)w->dv * sizeof(float));
    }
}

// Returns n rows of int8 of k or v from t on.
static nacre_attention_codes gemv_codes(const gemv_piece *x, const void *from, const nacre_attention_rows *r, size_t t,
                                        size_t n, size_t d) {
    return (nacre_attention_codes){.d = d, .n = n, .rows = attention_at(from, r, x->batch, x->kv, (int64_t)t),
                                   .step = (size_t)r->row, .scales = x->wide};
}

// Sets the scores of n keys from t on.
static void gemv_scores(const attention_plan *p, const gemv_piece *x, size_t t, size_t n, size_t c0, size_t c1) {
    const nacre_attention_words *const w = p->a.w;
    const size_t d = (size_t)w->d;
    if (w->k.type == NACRE_DTYPE_i8) {
        const nacre_attention_codes c = gemv_codes(x, p->a.k, &w->k, t, n, d);
        p->impl->codes_scores(&c, x->q, x->n, x->s + (t - c0), p->ld);
        return;
    }
    size_t ld;
    const float *const keys = gemv_rows(p, p->a.k, &w->k, x->batch, x->kv, t, n, d, x->wide, &ld);
    for (size_t i = 0; i < x->n; i++) {
        gemv_fetch(p->a.k, &w->k, x->batch, x->kv, t + n, c1, d, i, x->n);
        p->gemm->dot(d, x->q + i * d, keys, ld, x->s + i * p->ld + (t - c0), n);
    }
}

// Adds the weighted values of n keys from t on to the sums.
static void gemv_values(const attention_plan *p, const gemv_piece *x, size_t t, size_t n, size_t c0, size_t c1) {
    const nacre_attention_words *const w = p->a.w;
    const size_t dv = (size_t)w->dv;
    if (w->v.type == NACRE_DTYPE_i8) {
        enum { QUERIES = 16 };
        float *sums[QUERIES];
        const nacre_attention_codes c = gemv_codes(x, p->a.v, &w->v, t, n, dv);
        for (size_t i = 0; i < x->n; i += QUERIES) {
            const size_t m = nacre_min(QUERIES, x->n - i);
            for (size_t l = 0; l < m; l++) sums[l] = gemv_sums(p, &x->rows[i + l], x->acc, i + l, x->part);
            p->impl->codes_weigh(&c, x->s + i * p->ld + (t - c0), p->ld, m, sums);
        }
        return;
    }
    size_t ld;
    const float *const values = gemv_rows(p, p->a.v, &w->v, x->batch, x->kv, t, n, dv, x->wide, &ld);
    for (size_t i = 0; i < x->n; i++) {
        gemv_fetch(p->a.v, &w->v, x->batch, x->kv, t + n, c1, dv, i, x->n);
        const float *const weights = x->s + i * p->ld + (t - c0);
        p->gemm->axpy(n, weights, 1, values, ld, gemv_sums(p, &x->rows[i], x->acc, i, x->part), dv);
    }
}

// Adds the weighted values of keys c0 to c1 - 1 to the sums.
static void gemv_weigh(const attention_plan *p, const gemv_piece *x, size_t c0, size_t c1) {
    for (size_t t = c0; t < c1 && !nacre_stopped(p->team); t += ATTENTION_KEYS) {
        gemv_scores(p, x, t, nacre_min(ATTENTION_KEYS, c1 - t), c0, c1);
    }
    for (size_t i = 0; i < x->n; i++) attention_scores(p, &x->rows[i], x->s + i * p->ld, c0, c1, x->lines);
    for (size_t t = c0; t < c1 && !nacre_stopped(p->team); t += ATTENTION_KEYS) {
        gemv_values(p, x, t, nacre_min(ATTENTION_KEYS, c1 - t), c0, c1);
    }
}

static void gemv_chunk(void *job, size_t chunk, size_t thread) {
    const attention_plan *const p = job;
    gemv_piece x;
    size_t lo, hi;
    gemv_begin(p, chunk, thread, &x);
    attention_rows_range(p, x.rows, x.n, &lo, &hi);
    const size_t c0 = nacre_max(lo / ATTENTION_KEYS * ATTENTION_KEYS, x.part * p->block),
        c1 = nacre_min((x.part + 1) * p->block, hi);
    if (c0 < c1) gemv_weigh(p, &x, c0, c1);
    for (size_t i = 0; i < x.n; i++) {
        float *const sums = gemv_sums(p, &x.rows[i], x.acc, i, x.part);
        if (p->parts == 1) {
            attention_end(p, &x.rows[i], sums);
        } else {
            sums[p->a.w->dv] = x.rows[i].top;
            sums[p->a.w->dv + 1] = x.rows[i].sum;
        }
    }
}

// Joins the parts of the queries of a head into the first part.
static void gemv_join(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const attention_plan *const p = job;
    const nacre_attention_words *const w = p->a.w;
    const size_t dv = (size_t)w->dv;
    for (int64_t i = 0; i < w->q_len; i++) {
        attention_row r = attention_begin(p, (int64_t)chunk / w->heads, (int64_t)chunk % w->heads, i);
        float *const sums = gemv_join_at(p, &r, 0);
        float top = -INFINITY;
        for (size_t part = 0; part < p->parts; part++) top = fmaxf(top, gemv_join_at(p, &r, part)[dv]);
        const float shift = top == -INFINITY ? 0 : top;
        const float first = expf(sums[dv] - shift);
        r.sum = sums[dv + 1] * first;
        NACRE_SIMD for (size_t e = 0; e < dv; e++) sums[e] *= first;
        for (size_t part = 1; part < p->parts; part++) {
            const float *const from = gemv_join_at(p, &r, part), factor = expf(from[dv] - shift);
            r.sum += from[dv + 1] * factor;
            NACRE_SIMD for (size_t e = 0; e < dv; e++) sums[e] += from[e] * factor;
        }
        attention_end(p, &r, sums);
    }
}

static void gemv_run(const nacre_call *c) {
    attention_plan p = {0};
    if (!attention_start(c, &p)) return;
    const nacre_attention_words *const w = p.a.w;
    if (w->batch * w->heads * w->q_len == 0) return;
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)p.a.keys;
    p.parts = gemv_parts(w, keys);
    p.block = nacre_round_up(nacre_max(nacre_ceil_div(keys, p.parts), 1), ATTENTION_KEYS);
    p.ld = attention_ld(p.block);
    p.by_head = heads * p.parts < nacre_team_threads(c->team);
    p.rows = (size_t)w->q_len * (p.by_head ? 1 : p.group);
    p.acc = gemv_acc(w, p.rows);
    p.per_thread = gemv_per_thread(w, p.rows, p.ld);
    p.joined = c->scratch;
    p.threads = p.joined + gemv_joined(w, p.parts);
    nacre_parallel(c->team, (p.by_head ? (size_t)(w->batch * w->heads) : heads) * p.parts, gemv_chunk, &p);
    if (p.parts > 1) nacre_parallel(c->team, (size_t)(w->batch * w->heads), gemv_join, &p);
}

static int gemv_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    return ((const nacre_attention_words *)(const void *)words)->q_len <= ATTENTION_GEMV;
}

static size_t gemv_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_attention_words *const w = (const void *)words;
    const size_t rows = (size_t)w->q_len * (w->kv_heads == 0 ? 1 : (size_t)(w->heads / w->kv_heads)),
        keys = (size_t)w->kv_len;
    const size_t ld = attention_ld(gemv_most_part(w, keys));
    return (gemv_joined(w, gemv_parts(w, keys)) + threads * gemv_per_thread(w, rows, ld)) * sizeof(float);
}

const nacre_entry nacre_attention_gemv_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = gemv_run, .fits = gemv_fits,
    .scratch = gemv_scratch};
