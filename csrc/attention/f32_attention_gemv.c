// Attention of few queries, which are not worth packing keys and values for: the heads
// that share these go along them where they lie. Blocks of keys do not depend on the
// threads, so results do not.
#include "attention/f32_attention.h"
#include "core/simd.h"

// Keys of a block, in whole steps.
static size_t gemv_block(const nacre_attention_words *w, size_t keys, size_t step) {
    if (keys <= ATTENTION_WHOLE || w->qk_stage != NACRE_QK_NONE) return nacre_round_up(nacre_max(keys, 1), step);
    return ATTENTION_BLOCK / step * step;
}

// The most that gemv_block is for so many keys or fewer.
static size_t gemv_most_block(const nacre_attention_words *w, size_t keys, size_t step) {
    if (w->qk_stage != NACRE_QK_NONE) return nacre_round_up(nacre_max(keys, 1), step);
    return nacre_round_up(nacre_max(nacre_min(keys, ATTENTION_WHOLE), 1), step);
}

static inline size_t gemv_acc(const nacre_attention_words *w, size_t rows) {
    return w->out.type == NACRE_ELEMENT_F32 ? 0 : nacre_align_floats(rows * (size_t)w->dv);
}

// Where the sums of row i of a piece of work lie: in the output, or at acc.
static float *gemv_sums(const attention_plan *p, const attention_row *r, float *acc, size_t i) {
    const nacre_attention_words *const w = p->a.w;
    if (p->acc == 0) return (float *)(uintptr_t)attention_at(p->a.out, &w->out, r->batch, r->head, r->query);
    return acc + i * (size_t)w->dv;
}

static size_t gemv_per_thread(const nacre_attention_words *w, size_t rows, size_t ld) {
    const size_t d = (size_t)w->d, dv = (size_t)w->dv;
    const size_t n = (rows + ATTENTION_LINES) * ld + rows * (d + sizeof(attention_row) / sizeof(float)) + ATTENTION_KEYS * nacre_max(d, dv);
    return nacre_align_floats(n) + gemv_acc(w, rows);
}

// n rows of k or v from t on, as floats.
static const float *gemv_rows(const attention_plan *p, const void *x, const nacre_attention_rows *r, int64_t b, int64_t h, size_t t, size_t n,
                              size_t d, float *wide, size_t *ld) {
    const void *const from = attention_at(x, r, b, h, (int64_t)t);
    if (r->type == NACRE_ELEMENT_F32) {
        *ld = (size_t)r->row;
        return from;
    }
    for (size_t i = 0; i < n; i++) p->half->widen[r->type]((const uint16_t *)from + i * (size_t)r->row, wide + i * d, d);
    *ld = d;
    return wide;
}

static void gemv_chunk(void *job, size_t chunk, size_t thread) {
    const attention_plan *const p = job;
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const size_t per_batch = (size_t)(p->by_head ? w->heads : w->kv_heads), q_len = (size_t)w->q_len, d = (size_t)w->d, dv = (size_t)w->dv;
    const int64_t b = (int64_t)(chunk / per_batch);
    const size_t h0 = chunk % per_batch * (p->by_head ? 1 : p->group), n = p->rows;
    const int64_t kv = (int64_t)(h0 / p->group);
    attention_row *const rows = (attention_row *)(void *)(p->threads + thread * p->per_thread);
    float *const s = (float *)(void *)(rows + n), *const lines = s + n * p->ld, *const q = lines + ATTENTION_LINES * p->ld;
    float *const wide = q + n * d, *const acc = p->threads + (thread + 1) * p->per_thread - p->acc;
    const float scale = w->cap == 0 ? (float)w->scale : (float)w->scale / (float)w->cap;
    for (size_t i = 0; i < n; i++) {
        rows[i] = attention_begin(p, b, (int64_t)(h0 + i / q_len), (int64_t)(i % q_len));
        p->half->widen[w->q.type](attention_at(a->q, &w->q, b, rows[i].head, rows[i].query), q + i * d, d);
        NACRE_SIMD for (size_t e = 0; e < d; e++) q[i * d + e] *= scale;
        memset(gemv_sums(p, &rows[i], acc, i), 0, dv * sizeof(float));
    }
    size_t lo, hi, ld;
    attention_rows_range(p, rows, n, &lo, &hi);
    for (size_t t = lo / p->block * p->block; t < hi && !nacre_stopped(p->team); t += p->block) {
        const size_t c0 = nacre_max(lo, t) / ATTENTION_KEYS * ATTENTION_KEYS, c1 = nacre_min(t + p->block, hi);
        for (size_t j = c0; j < c1; j += ATTENTION_KEYS) {
            const size_t m = nacre_min(ATTENTION_KEYS, c1 - j);
            const float *const keys = gemv_rows(p, a->k, &w->k, b, kv, j, m, d, wide, &ld);
            for (size_t i = 0; i < n; i++) p->gemm->dot(d, q + i * d, keys, ld, s + i * p->ld + (j - c0), m);
        }
        for (size_t i = 0; i < n; i++) {
            attention_scores(p, &rows[i], s + i * p->ld, c0, c1, lines);
            if (rows[i].factor == 1) continue;
            float *const sums = gemv_sums(p, &rows[i], acc, i);
            NACRE_SIMD for (size_t e = 0; e < dv; e++) sums[e] *= rows[i].factor;
        }
        for (size_t j = c0; j < c1; j += ATTENTION_KEYS) {
            const size_t m = nacre_min(ATTENTION_KEYS, c1 - j);
            const float *const values = gemv_rows(p, a->v, &w->v, b, kv, j, m, dv, wide, &ld);
            for (size_t i = 0; i < n; i++) p->gemm->axpy(m, s + i * p->ld + (j - c0), 1, values, ld, gemv_sums(p, &rows[i], acc, i), dv);
        }
    }
    for (size_t i = 0; i < n; i++) attention_end(p, &rows[i], gemv_sums(p, &rows[i], acc, i));
}

static void gemv_run(const nacre_call *c) {
    attention_plan p = {0};
    if (!attention_start(c, &p)) return;
    const nacre_attention_words *const w = p.a.w;
    if (w->batch * w->heads * w->q_len == 0) return;
    const size_t heads = (size_t)(w->batch * w->kv_heads);
    p.block = gemv_block(w, (size_t)p.a.keys, ATTENTION_KEYS);
    p.ld = attention_ld(p.block);
    p.by_head = heads < nacre_team_threads(c->team);
    p.rows = (size_t)w->q_len * (p.by_head ? 1 : p.group);
    p.acc = gemv_acc(w, p.rows);
    p.per_thread = gemv_per_thread(w, p.rows, p.ld);
    p.threads = c->scratch;
    nacre_parallel(c->team, p.by_head ? (size_t)(w->batch * w->heads) : heads, gemv_chunk, &p);
}

static int gemv_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    return ((const nacre_attention_words *)(const void *)words)->q_len <= ATTENTION_GEMV;
}

static size_t gemv_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_attention_words *const w = (const void *)words;
    const size_t rows = (size_t)w->q_len * (w->kv_heads == 0 ? 1 : (size_t)(w->heads / w->kv_heads));
    const size_t ld = attention_ld(gemv_most_block(w, (size_t)w->kv_len, ATTENTION_KEYS));
    return threads * gemv_per_thread(w, rows, ld) * sizeof(float);
}

const nacre_entry nacre_attention_gemv_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = gemv_run, .fits = gemv_fits, .scratch = gemv_scratch};
