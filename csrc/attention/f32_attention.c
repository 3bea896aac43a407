// The driver of attention.
//
// Keys and values are packed once per head for the tiles of f32_gemm. A piece of
// work is a few panels of queries of one head, which meet the keys block by block:
// products, one step of the softmax, products with the values. Few queries are
// not worth packing for: their heads go along keys and values where these lie.
// Blocks of keys do not depend on the threads, so results do not.
#include <math.h>
#include <string.h>

#include "attention/attention.h"
#include "core/target.h"

enum {
    ATTEND_LINES = 4,      // queries per head that are not worth packing for
    ATTEND_PANELS = 4,     // panels of queries of one piece of work
    ATTEND_WHOLE = 1024,   // keys that are taken at once
    ATTEND_BLOCK = 512,    // of more keys than those
    ATTEND_KEYS = 16,      // keys that the lines of a group of heads take in turn
    ATTEND_PACK = 256      // keys of a piece of packing
};

// What becomes of the scores of one query.
typedef struct {
    size_t batch, head, query;
    size_t lo, hi;  // keys that it attends to
    float top, sum, factor;
} attend_row;

typedef struct {
    const nacre_attention *a;
    bool lines;
    size_t group;   // heads of q per head of k
    size_t block;   // keys
    size_t ld;      // of scores
    size_t rows;    // at most, of a piece of work
    size_t pieces;  // of the queries of a head
    size_t k_size, v_size;
    size_t per_thread;
    bool by_head;   // lines only: a piece of work is a head of q, not one of k
    float *k_packed, *v_packed, *threads;
} attend_plan;

static size_t attend_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t attend_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

static attend_plan attend_make(const nacre_attention *a, size_t threads) {
    attend_plan p = {.a = a, .group = a->heads / a->kv_heads};
    const size_t nr = a->gemm->nr, mr = a->gemm->mr;
    p.lines = a->q_len <= ATTEND_LINES;
    const size_t step = p.lines ? ATTEND_KEYS : nr;
    p.block = a->kv_len <= ATTEND_WHOLE || a->qk != NULL ? attend_up(a->kv_len, step) : ATTEND_BLOCK / step * step;
    p.ld = attend_up(p.block, 16) + 16;
    p.by_head = a->batch * a->kv_heads < threads;
    if (p.lines) {
        p.rows = a->q_len * (p.by_head ? 1 : p.group);
        p.pieces = 1;
        p.per_thread = p.rows * (p.ld + a->d + sizeof(attend_row) / sizeof(float)) + ATTEND_KEYS * (a->d > a->dv ? a->d : a->dv);
    } else {
        p.rows = attend_min(a->q_len, ATTEND_PANELS * mr);
        p.pieces = (a->q_len + p.rows - 1) / p.rows;
        p.k_size = nacre_f32_gemm_packed_b(a->gemm, a->kv_len, a->d);
        p.v_size = nacre_f32_gemm_packed_b(a->gemm, a->dv, a->kv_len);
        p.per_thread = p.rows * (p.ld + a->d) + mr * p.block;
    }
    p.per_thread = attend_up(p.per_thread, 16);
    return p;
}

size_t nacre_attention_scratch(const nacre_attention *a, size_t threads) {
    const attend_plan p = attend_make(a, threads);
    return a->batch * a->kv_heads * (p.k_size + p.v_size) + threads * p.per_thread;
}

static const void *attend_at(const nacre_attention_rows *x, size_t batch, size_t head, size_t row) {
    return (const char *)x->data + (batch * x->batch + head * x->head + row * x->row) * (x->type == NACRE_FLOAT32 ? 4 : 2);
}

static void attend_widen(const nacre_attention *a, const nacre_attention_rows *x, const void *src, size_t n, float scale, float *dst) {
    a->gemm->half()->widen[x->type](src, dst, n);
    for (size_t i = 0; i < n; i++) dst[i] *= scale;
}

// ---- rows ----

static attend_row attend_begin(const nacre_attention *a, size_t batch, size_t head, size_t query) {
    attend_row r = {.batch = batch, .head = head, .query = query, .top = -INFINITY};
    const int64_t position = a->first[batch] + (int64_t)query;
    int64_t hi = a->valid[batch], lo = 0;
    if (a->causal && hi > position + 1) hi = position + 1;
    if (a->window > 0 && position + 1 > (int64_t)a->window) lo = position + 1 - (int64_t)a->window;
    if (a->bias != NULL && hi > (int64_t)a->bias_cols) hi = (int64_t)a->bias_cols;
    if (hi > lo) {
        r.lo = (size_t)lo;
        r.hi = (size_t)hi;
    }
    if (a->sink != NULL) {
        r.top = a->sink[head];
        r.sum = 1;
    }
    return r;
}

static float *attend_qk(const nacre_attention *a, const attend_row *r) {
    return a->qk + ((r->batch * a->heads + r->head) * a->q_len + r->query) * a->kv_len;
}

// Scores s of keys c0..c1-1 become weights, with zeros where the query does not
// attend; what was weighted before is to be scaled by r->factor.
static void attend_scores(const nacre_attention *a, attend_row *r, float *s, size_t c0, size_t c1) {
    const float none[2] = {0, 0}, gain = a->cap == 0 ? 1 : a->cap;
    if (a->qk_stage == NACRE_QK_PRODUCT) {
        for (size_t j = c0; j < c1; j++) attend_qk(a, r)[j] = s[j - c0] * gain;
    }
    if (a->cap != 0) a->tanh(s, s, c1 - c0, none);
    if (a->qk_stage == NACRE_QK_CAPPED) {
        for (size_t j = c0; j < c1; j++) attend_qk(a, r)[j] = s[j - c0] * gain;
    }
    const size_t lo = r->lo > c0 ? r->lo : c0, hi = attend_min(r->hi, c1);
    const float *bias = a->bias == NULL ? NULL : a->bias + r->batch * a->bias_batch + r->head * a->bias_head + r->query * a->bias_row;
    if (a->qk_stage == NACRE_QK_BIASED) {
        float *const qk = attend_qk(a, r);
        for (size_t j = c0; j < c1; j++) {
            qk[j] = j < lo || j >= hi ? -INFINITY : s[j - c0] * gain + (bias == NULL ? 0 : bias[j]);
        }
    }
    if (lo >= hi) {
        memset(s, 0, (c1 - c0) * sizeof *s);
        r->factor = 1;
        return;
    }
    r->factor = a->attend(s + (lo - c0), hi - lo, gain, bias == NULL ? NULL : bias + lo, &r->top, &r->sum);
    memset(s, 0, (lo - c0) * sizeof *s);
    memset(s + (hi - c0), 0, (c1 - hi) * sizeof *s);
    if (a->qk_stage == NACRE_QK_WEIGHTS) {
        for (size_t j = c0; j < c1; j++) attend_qk(a, r)[j] = s[j - c0] / r->sum;
    }
}

static float *attend_out(const nacre_attention *a, const attend_row *r) {
    return a->out + r->batch * a->out_batch + r->head * a->out_head + r->query * a->out_row;
}

static void attend_finish(const nacre_attention *a, const attend_row *r) {
    float *const out = attend_out(a, r);
    if (r->lo >= r->hi || r->sum == 0) {
        memset(out, 0, a->dv * sizeof *out);
        if (a->qk_stage == NACRE_QK_WEIGHTS) memset(attend_qk(a, r), 0, a->kv_len * sizeof *out);
        return;
    }
    const float scale = 1 / r->sum;
    for (size_t i = 0; i < a->dv; i++) out[i] *= scale;
}

// The keys that any of the rows attends to; all when their products are asked for.
static void attend_range(const nacre_attention *a, const attend_row *rows, size_t n, size_t *lo, size_t *hi) {
    *lo = a->kv_len;
    *hi = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].lo >= rows[i].hi) continue;
        *lo = attend_min(*lo, rows[i].lo);
        *hi = rows[i].hi > *hi ? rows[i].hi : *hi;
    }
    if (a->qk != NULL) {
        *lo = 0;
        *hi = a->kv_len;
    }
}

// ---- tiles ----

static void attend_pack(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const attend_plan *const p = job;
    const nacre_attention *const a = p->a;
    const size_t nr = a->gemm->nr, step = ATTEND_PACK / nr * nr, parts = (a->kv_len + step - 1) / step;
    const size_t head = chunk / parts, t0 = chunk % parts * step, t1 = attend_min(t0 + step, a->kv_len);
    const size_t b = head / a->kv_heads, h = head % a->kv_heads;
    float *const k = p->k_packed + head * p->k_size, *const v = p->v_packed + head * p->v_size;
    for (size_t t = t0; t < t1; t += nr) {
        nacre_f32_pack_panel(a->gemm->half(), a->d, attend_min(nr, t1 - t), attend_at(&a->k, b, h, t), a->k.type, a->k.row, 1, nr, k + t * a->d);
    }
    for (size_t c = 0; c < a->dv; c += nr) {
        const char *const from = (const char *)attend_at(&a->v, b, h, t0) + c * (a->v.type == NACRE_FLOAT32 ? 4 : 2);
        nacre_f32_pack_panel(a->gemm->half(), t1 - t0, attend_min(nr, a->dv - c), from, a->v.type, 1, a->v.row, nr, v + c * a->kv_len + t0 * nr);
    }
}

enum { ATTEND_MOST_ROWS = ATTEND_PANELS * 32 };

static void attend_tiles(void *job, size_t chunk, size_t thread) {
    const attend_plan *const p = job;
    const nacre_attention *const a = p->a;
    const nacre_f32_gemm_impl *const g = a->gemm;
    const size_t i0 = chunk % p->pieces * p->rows, n = attend_min(p->rows, a->q_len - i0);
    const size_t bh = chunk / p->pieces, b = bh / a->heads, h = bh % a->heads, kv = b * a->kv_heads + h / p->group;
    const float *const keys = p->k_packed + kv * p->k_size, *const values = p->v_packed + kv * p->v_size;
    float *const s = p->threads + thread * p->per_thread, *const weights = s + p->rows * p->ld;
    float *const q = weights + g->mr * p->block;
    attend_row rows[ATTEND_MOST_ROWS];
    for (size_t i = 0; i < n; i++) rows[i] = attend_begin(a, b, h, i0 + i);
    for (size_t i = 0; i < n; i += g->mr) {
        const size_t m = attend_min(g->mr, n - i);
        nacre_f32_pack_panel(a->gemm->half(), a->d, m, attend_at(&a->q, b, h, i0 + i), a->q.type, a->q.row, 1, m, q + i * a->d);
    }
    const float scale = a->cap == 0 ? a->scale : a->scale / a->cap;
    const nacre_f32_epilogue product = {.alpha = scale};
    float *const out = attend_out(a, &rows[0]);
    size_t lo, hi;
    attend_range(a, rows, n, &lo, &hi);
    int started = 0;
    for (size_t t = lo / p->block * p->block; t < hi; t += p->block) {
        const size_t c0 = (lo > t ? lo : t) / g->nr * g->nr, c1 = attend_min(t + p->block, hi);
        for (size_t j = c0; j < c1; j += g->nr) {
            for (size_t i = 0; i < n; i += g->mr) {
                const size_t m = attend_min(g->mr, n - i);
                g->tile(a->d, q + i * a->d, m, keys + j * a->d, s + i * p->ld + (j - c0), p->ld, m, attend_min(g->nr, c1 - j), &product);
            }
        }
        nacre_f32_epilogue sum = {.alpha = 1, .ld_add = a->out_row};
        for (size_t i = 0; i < n; i += g->mr) {
            const size_t m = attend_min(g->mr, n - i);
            for (size_t r = i; r < i + m; r++) {
                attend_scores(a, &rows[r], s + r * p->ld, c0, c1);
                if (!started || rows[r].factor == 1) continue;
                for (size_t c = 0; c < a->dv; c++) out[r * a->out_row + c] *= rows[r].factor;
            }
            nacre_f32_pack_panel(a->gemm->half(), c1 - c0, m, s + i * p->ld, NACRE_FLOAT32, p->ld, 1, m, weights);
            for (size_t c = 0; c < a->dv; c += g->nr) {
                float *const to = out + i * a->out_row + c;
                sum.add = started ? to : NULL;
                g->tile(c1 - c0, weights, m, values + c * a->kv_len + c0 * g->nr, to, a->out_row, m, attend_min(g->nr, a->dv - c),
                        &sum);
            }
        }
        started = 1;
    }
    for (size_t i = 0; i < n; i++) attend_finish(a, &rows[i]);
}

// ---- lines ----

// n rows of k or v from t on, as floats.
static const float *attend_rows(const nacre_attention *a, const nacre_attention_rows *x, size_t b, size_t h, size_t t, size_t n, size_t d, float *wide, size_t *ld) {
    const void *const from = attend_at(x, b, h, t);
    if (x->type == NACRE_FLOAT32) {
        *ld = x->row;
        return from;
    }
    for (size_t i = 0; i < n; i++) attend_widen(a, x, (const uint16_t *)from + i * x->row, d, 1, wide + i * d);
    *ld = d;
    return wide;
}

static void attend_lines(void *job, size_t chunk, size_t thread) {
    const attend_plan *const p = job;
    const nacre_attention *const a = p->a;
    const size_t per_batch = p->by_head ? a->heads : a->kv_heads, b = chunk / per_batch;
    const size_t h0 = chunk % per_batch * (p->by_head ? 1 : p->group), kv = h0 / p->group, n = p->rows;
    attend_row *const rows = (attend_row *)(void *)(p->threads + thread * p->per_thread);
    float *const s = (float *)(void *)(rows + n), *const q = s + n * p->ld, *const wide = q + n * a->d;
    const float scale = a->cap == 0 ? a->scale : a->scale / a->cap;
    for (size_t i = 0; i < n; i++) {
        rows[i] = attend_begin(a, b, h0 + i / a->q_len, i % a->q_len);
        attend_widen(a, &a->q, attend_at(&a->q, b, rows[i].head, rows[i].query), a->d, scale, q + i * a->d);
        memset(attend_out(a, &rows[i]), 0, a->dv * sizeof(float));
    }
    size_t lo, hi, ld;
    attend_range(a, rows, n, &lo, &hi);
    for (size_t t = lo / p->block * p->block; t < hi; t += p->block) {
        const size_t c0 = (lo > t ? lo : t) / ATTEND_KEYS * ATTEND_KEYS, c1 = attend_min(t + p->block, hi);
        for (size_t j = c0; j < c1; j += ATTEND_KEYS) {
            const size_t m = attend_min(ATTEND_KEYS, c1 - j);
            const float *const keys = attend_rows(a, &a->k, b, kv, j, m, a->d, wide, &ld);
            for (size_t i = 0; i < n; i++) a->gemm->dot(a->d, q + i * a->d, keys, ld, s + i * p->ld + (j - c0), m);
        }
        for (size_t i = 0; i < n; i++) {
            attend_scores(a, &rows[i], s + i * p->ld, c0, c1);
            if (rows[i].factor == 1) continue;
            float *const out = attend_out(a, &rows[i]);
            for (size_t c = 0; c < a->dv; c++) out[c] *= rows[i].factor;
        }
        for (size_t j = c0; j < c1; j += ATTEND_KEYS) {
            const size_t m = attend_min(ATTEND_KEYS, c1 - j);
            const float *const values = attend_rows(a, &a->v, b, kv, j, m, a->dv, wide, &ld);
            for (size_t i = 0; i < n; i++) a->gemm->axpy(m, s + i * p->ld + (j - c0), 1, values, ld, attend_out(a, &rows[i]), a->dv);
        }
    }
    for (size_t i = 0; i < n; i++) attend_finish(a, &rows[i]);
}

void nacre_attention_run(const nacre_attention *a, nacre_team *team, float *scratch) {
    attend_plan p = attend_make(a, nacre_team_threads(team));
    const size_t heads = a->batch * a->kv_heads;
    p.k_packed = scratch;
    p.v_packed = p.k_packed + heads * p.k_size;
    p.threads = p.v_packed + heads * p.v_size;
    if (p.lines) {
        nacre_parallel(team, p.by_head ? a->batch * a->heads : heads, attend_lines, &p);
        return;
    }
    const size_t step = ATTEND_PACK / a->gemm->nr * a->gemm->nr;
    nacre_parallel(team, heads * ((a->kv_len + step - 1) / step), attend_pack, &p);
    nacre_parallel(team, a->batch * a->heads * p.pieces, attend_tiles, &p);
}
