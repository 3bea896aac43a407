// Attention of many queries on tiles of bfloat16 parts (core/f32_parts.h). Keys, and transposed
// values, are split into parts once per head. Scores are keys by queries, and so directly the right
// operand of the product with the values; its sums are elements by queries. If an operand or a
// weight has numbers without parts, all is computed with floats.
#include "attention/attention.h"
#include "core/target.h"

#if NACRE_X86_64

#include <float.h>
#include <math.h>

#include "attention/tiles.h"
#include "core/f32_parts.h"

enum {
    PARTS_STEPS = 2,          // steps of weights at a time
    PARTS_KEYS = 256,         // keys of a block, about
    PARTS_QUERIES = 96,       // per key, from which splitting it pays
    PARTS_HEADS = 32 << 20    // bytes of all heads at most
};

// Data shared by all threads.
typedef struct {
    attention_plan p;
    size_t d_steps, k_steps;       // of scores, and of sums
    size_t k_lines, v_lines;       // keys, and elements of a value: lines of a part
    size_t k_bytes, v_bytes;       // of the parts of a head
    char *keys, *values;
    size_t per_thread, square;     // bytes of a thread; floats of its scores
    int odd;
} parts_job;

extern const nacre_entry nacre_attention_tiles_entry;

static size_t parts_block(const nacre_attention_words *w, size_t keys) {
    (void)w;
    return nacre_round_up(nacre_max(nacre_ceil_div(keys, nacre_max(nacre_ceil_div(keys, PARTS_KEYS), 1)), 1),
                          NACRE_PARTS_SIDE);
}

static void parts_sizes(parts_job *j, const nacre_attention_words *w, size_t keys) {
    j->d_steps = nacre_ceil_div((size_t)w->d, NACRE_PARTS_DEPTH);
    j->k_steps = nacre_ceil_div(keys, NACRE_PARTS_DEPTH);
    j->k_lines = nacre_round_up(keys, NACRE_PARTS_SIDE);
    j->v_lines = nacre_round_up((size_t)w->dv, NACRE_PARTS_SIDE);
    j->k_bytes = j->d_steps * NACRE_PARTS * j->k_lines * NACRE_AMX_LINE;
    j->v_bytes = j->k_steps * NACRE_PARTS * j->v_lines * NACRE_AMX_LINE;
    // Scores of a block, or the transposed sums of a panel.
    j->square = nacre_max(nacre_min(j->k_lines, nacre_round_up(PARTS_KEYS, NACRE_PARTS_SIDE)),
                          nacre_align_floats((size_t)w->dv)) * NACRE_PARTS_SIDE;
}

// Returns the floats of a panel: its queries, their parts, its sums.
static size_t parts_panel(const parts_job *j, const nacre_attention_words *w) {
    return (size_t)w->d * NACRE_PARTS_SIDE + j->d_steps * NACRE_PARTS * NACRE_PARTS_RIGHT / sizeof(float) +
        j->v_lines * NACRE_PARTS_SIDE;
}

// Returns the floats of a thread.
static size_t parts_floats(const parts_job *j, const nacre_attention_words *w, const nacre_f32_gemm_impl *g,
                           size_t keys) {
    const size_t panels = tiles_rows(g, w) / g->nr;
    size_t n = j->square + PARTS_STEPS * NACRE_PARTS * NACRE_PARTS_RIGHT / sizeof(float) + panels * parts_panel(j, w);
    const size_t block = nacre_min(nacre_round_up(keys, NACRE_PARTS_SIDE),
                                   nacre_round_up(PARTS_KEYS, NACRE_PARTS_SIDE));
    if (tiles_lines(w)) n += block * g->nr + (g->nr + ATTENTION_LINES) * attention_ld(block);
    return nacre_align_floats(n);
}

NACRE_TARGET_BEGIN(NACRE_AVX512)

// Splits some keys of a head and their values.
static void parts_split_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    parts_job *const j = job;
    const attention_plan *const p = &j->p;
    const nacre_attention_words *const w = p->a.w;
    const size_t d = (size_t)w->d, dv = (size_t)w->dv, keys = (size_t)p->a.keys,
        pieces = nacre_ceil_div(keys, NACRE_PARTS_DEPTH);
    const size_t head = chunk / pieces, t = chunk % pieces * NACRE_PARTS_DEPTH,
        n = nacre_min(NACRE_PARTS_DEPTH, keys - t);
    const int64_t b = (int64_t)head / w->kv_heads, h = (int64_t)head % w->kv_heads;
    const float *const k = attention_at(p->a.k, &w->k, b, h, (int64_t)t),
        *const v = attention_at(p->a.v, &w->v, b, h, (int64_t)t);
    const size_t k_part = j->k_lines * NACRE_AMX_LINE, v_part = j->v_lines * NACRE_AMX_LINE;
    char *const to = j->keys + head * j->k_bytes + t * NACRE_AMX_LINE;
    int odd = 0;
    for (size_t s = 0; s < j->d_steps; s++) {
        const size_t there = nacre_min(d - s * NACRE_PARTS_DEPTH, NACRE_PARTS_DEPTH), first = nacre_min(there, 16);
        odd |= nacre_parts_lines(NACRE_PARTS, k + s * NACRE_PARTS_DEPTH, (size_t)w->k.row, 16, first, there - first, n,
                                 to + s * NACRE_PARTS * k_part, k_part);
    }
    char *const values = j->values + head * j->v_bytes + t / NACRE_PARTS_DEPTH * NACRE_PARTS * v_part;
    float turned[NACRE_PARTS_SIDE * NACRE_PARTS_DEPTH];
    for (size_t e = 0; e < dv; e += NACRE_PARTS_SIDE) {
        const size_t rows = nacre_min(NACRE_PARTS_SIDE, dv - e);
        p->gemm->driver->pack_panel(p->half, rows, n, v + e, NACRE_DTYPE_f32, (size_t)w->v.row, 1, NACRE_PARTS_DEPTH,
                                    turned);
        odd |= nacre_parts_lines(NACRE_PARTS, turned, NACRE_PARTS_DEPTH, 16, 16, 16, rows, values + e * NACRE_AMX_LINE,
                                 v_part);
    }
    if (odd) __atomic_store_n(&j->odd, 1, __ATOMIC_RELAXED);
}

// The memory of a piece of work.
typedef struct {
    tiles_room room;
    char *weights;  // parts
    tiles_panel panels[TILES_PANELS];
    char *queries[TILES_PANELS];  // parts
} parts_piece;

// Computes the scores of keys c0 to c1 - 1.
static void parts_products(const parts_job *j, size_t kv, const parts_piece *x, size_t panel, size_t c0, size_t c1) {
    enum { MOST = 64 };
    size_t step[MOST];
    const size_t part = j->k_lines * NACRE_AMX_LINE;
    nacre_parts_square t = {.a_parts = NACRE_PARTS, .b_parts = NACRE_PARTS, .a_part = part, .step = step,
                            .columns = x->panels[panel].n};
    for (size_t c = c0; c < c1; c += NACRE_PARTS_SIDE) {
        t.rows = nacre_min(NACRE_PARTS_SIDE, c1 - c);
        t.sums = x->room.s + (c - c0) * NACRE_PARTS_SIDE;
        for (size_t s = 0; s < j->d_steps; s += t.steps) {
            t.steps = nacre_min(MOST, j->d_steps - s);
            for (size_t i = 0; i < t.steps; i++) step[i] = (s + i) * NACRE_PARTS * part;
            t.a = j->keys + kv * j->k_bytes + c * NACRE_AMX_LINE;
            t.b = x->queries[panel] + s * NACRE_PARTS * NACRE_PARTS_RIGHT;
            t.add = s > 0;
            nacre_parts_multiply(&t);
        }
    }
}

// Scales the sums of a panel by 2^(before - top): the largest scores grew from before to top.
static void parts_rescale(const parts_job *j, tiles_panel *y, const float *before) {
    float by[NACRE_PARTS_SIDE];
    int all_one = 1;
    for (size_t i = 0; i < NACRE_PARTS_SIDE; i++) {
        by[i] = y->top[i] == before[i] ? 1 : exp2f(before[i] - y->top[i]);
        all_one &= by[i] == 1;
    }
    if (all_one) return;
    const __m512 f0 = _mm512_loadu_ps(by), f1 = _mm512_loadu_ps(by + 16);
    for (size_t e = 0; e < j->v_lines; e++) {
        float *const row = y->sums + e * NACRE_PARTS_SIDE;
        _mm512_storeu_ps(row, _mm512_mul_ps(_mm512_loadu_ps(row), f0));
        _mm512_storeu_ps(row + 16, _mm512_mul_ps(_mm512_loadu_ps(row + 16), f1));
    }
}

// Reports whether all weights so far are finite. Weights are not negative, so their sums show it.
static int parts_finite(const tiles_panel *y) {
    int finite = 1;
    for (size_t i = 0; i < y->n; i++) finite &= y->sum[i] <= FLT_MAX;
    return finite;
}

// Multiplies the weights of keys c0 to c1 - 1 by their values. The first block stores into sums;
// later blocks add.
static void parts_sums(const parts_job *j, size_t kv, const parts_piece *x, tiles_panel *y, size_t c0, size_t c1) {
    const size_t part = j->v_lines * NACRE_AMX_LINE;
    size_t step[PARTS_STEPS];
    nacre_parts_square t = {.a_parts = NACRE_PARTS, .b_parts = NACRE_PARTS, .a_part = part, .step = step,
                            .b = x->weights, .columns = y->n};
    for (size_t i = 0; i < PARTS_STEPS; i++) step[i] = i * NACRE_PARTS * part;
    for (size_t c = c0; c < c1; c += PARTS_STEPS * NACRE_PARTS_DEPTH) {
        const size_t n = nacre_min(c1 - c, PARTS_STEPS * NACRE_PARTS_DEPTH);
        (void)nacre_parts_right(NACRE_PARTS, x->room.s + (c - c0) * NACRE_PARTS_SIDE, NACRE_PARTS_SIDE, n,
                                NACRE_PARTS_SIDE, x->weights);
        t.steps = nacre_ceil_div(n, NACRE_PARTS_DEPTH);
        t.add = y->started;
        for (size_t e = 0; e < j->v_lines; e += NACRE_PARTS_SIDE) {
            t.rows = nacre_min(NACRE_PARTS_SIDE, (size_t)j->p.a.w->dv - e);
            t.a = j->values + kv * j->v_bytes + c / NACRE_PARTS_DEPTH * NACRE_PARTS * part + e * NACRE_AMX_LINE;
            t.sums = y->sums + e * NACRE_PARTS_SIDE;
            nacre_parts_multiply(&t);
        }
        y->started = 1;
    }
}

NACRE_TARGET_END

// Writes the sums to rows of the output.
static void parts_end(const parts_job *j, const parts_piece *x, tiles_panel *y) {
    const attention_plan *const p = &j->p;
    const size_t dv = (size_t)p->a.w->dv, ld = tiles_sum(p->a.w);
    p->gemm->driver->pack_panel(p->half, y->n, dv, y->sums, NACRE_DTYPE_f32, NACRE_PARTS_SIDE, 1, ld, x->room.s);
    for (size_t i = 0; i < y->n; i++) {
        y->rows[i].sum = y->sum[i];
        attention_end(p, &y->rows[i], x->room.s + i * ld);
    }
}

// Sets the places of a thread's scores, panels and lines.
static void parts_operands(const parts_job *j, size_t thread, parts_piece *x) {
    const attention_plan *const p = &j->p;
    const nacre_attention_words *const w = p->a.w;
    const size_t nr = NACRE_PARTS_SIDE, right = NACRE_PARTS * NACRE_PARTS_RIGHT / sizeof(float);
    float *at = p->threads + thread * j->per_thread;
    x->room.s = at;
    at += j->square;
    x->weights = (char *)at;
    at += PARTS_STEPS * right;
    for (size_t i = 0; i < p->rows / nr; i++) {
        x->panels[i].q = at;
        x->queries[i] = (char *)(at + (size_t)w->d * nr);
        x->panels[i].sums = at + (size_t)w->d * nr + j->d_steps * right;
        at += parts_panel(j, w);
    }
    x->room.bias = at;
    x->room.rows = x->room.bias + p->block * nr;
    x->room.lines = x->room.rows + nr * p->ld;
}

NACRE_TARGET_BEGIN(NACRE_AVX512)

static void parts_chunk(void *job, size_t chunk, size_t thread) {
    parts_job *const j = job;
    const attention_plan *const p = &j->p;
    const nacre_attention_words *const w = p->a.w;
    const size_t i0 = chunk % p->pieces * p->rows, bh = chunk / p->pieces, nr = NACRE_PARTS_SIDE;
    const size_t panels = nacre_ceil_div(nacre_min(p->rows, (size_t)w->q_len - i0), nr);
    const int64_t b = (int64_t)bh / w->heads, h = (int64_t)bh % w->heads;
    const size_t kv = (size_t)b * (size_t)w->kv_heads + (size_t)h / p->group;
    parts_piece x;
    parts_operands(j, thread, &x);
    size_t lo = (size_t)p->a.keys, hi = 0;
    for (size_t i = 0; i < panels; i++) {
        tiles_panel *const y = &x.panels[i];
        tiles_begin(p, b, h, i0 + i * nr, y);
        if (nacre_parts_right(NACRE_PARTS, y->q, nr, (size_t)w->d, nr, x.queries[i])) {
            __atomic_store_n(&j->odd, 1, __ATOMIC_RELAXED);
        }
        lo = nacre_min(lo, y->lo);
        hi = nacre_max(hi, y->hi);
    }
    nacre_amx_begin();
    for (size_t t = lo / p->block * p->block; t < hi && !nacre_stopped(p->team); t += p->block) {
        for (size_t i = 0; i < panels; i++) {
            tiles_panel *const y = &x.panels[i];
            const size_t c0 = nacre_max(y->lo, t) / nr * nr, c1 = nacre_min(t + p->block, y->hi);
            float before[NACRE_PARTS_SIDE];
            if (c0 >= c1) continue;
            parts_products(j, kv, &x, i, c0, c1);
            memcpy(before, y->top, sizeof before);
            tiles_weights(p, &x.room, y, c0, c1, NULL);
            if (y->started) parts_rescale(j, y, before);
            if (!parts_finite(y)) __atomic_store_n(&j->odd, 1, __ATOMIC_RELAXED);
            parts_sums(j, kv, &x, y, c0, c1);
        }
    }
    nacre_amx_end();
    for (size_t i = 0; i < panels; i++) parts_end(j, &x, &x.panels[i]);
}

NACRE_TARGET_END

static size_t parts_heads(const parts_job *j, const nacre_attention_words *w) {
    return (size_t)(w->batch * w->kv_heads) * (j->k_bytes + j->v_bytes);
}

static void parts_run(const nacre_call *c) {
    parts_job j = {0};
    attention_plan *const p = &j.p;
    if (!attention_start(c, p)) return;
    const nacre_attention_words *const w = p->a.w;
    if (w->batch * w->heads * w->q_len == 0) return;
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)p->a.keys;
    parts_sizes(&j, w, keys);
    p->block = parts_block(w, keys);
    p->ld = attention_ld(p->block);
    p->rows = tiles_rows(p->gemm, w);
    p->pieces = nacre_ceil_div((size_t)w->q_len, p->rows);
    j.per_thread = parts_floats(&j, w, p->gemm, keys);
    j.keys = c->scratch;
    j.values = j.keys + heads * j.k_bytes;
    p->threads = (float *)(void *)(j.values + heads * j.v_bytes);
    nacre_parallel(c->team, heads * nacre_ceil_div(keys, NACRE_PARTS_DEPTH), parts_split_chunk, &j);
    if (!j.odd) nacre_parallel(c->team, (size_t)(w->batch * w->heads) * p->pieces, parts_chunk, &j);
    if (j.odd) nacre_attention_tiles_entry.run(c);
}

static int parts_pay(const nacre_attention_words *w) {
    return NACRE_AMX_ALWAYS ||
        (w->q_len * w->heads / w->kv_heads >= PARTS_QUERIES && w->q_len > NACRE_AMX_ROWS &&
         w->kv_len >= NACRE_PARTS_SIDE && w->d >= 16 && w->dv >= 16);
}

static int parts_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_attention_words *const w = (const void *)words;
    const nacre_f32_gemm_impl *const g = nacre_f32_gemm_part(w->gemm);
    parts_job j;
    parts_sizes(&j, w, (size_t)w->kv_len);
    return g->nr == NACRE_PARTS_SIDE && w->k.type == NACRE_DTYPE_f32 && w->v.type == NACRE_DTYPE_f32 &&
        w->qk_stage == NACRE_QK_NONE &&
           w->kv_heads > 0 && parts_pay(w) && parts_heads(&j, w) <= PARTS_HEADS;
}

static size_t parts_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    const nacre_attention_words *const w = (const void *)words;
    parts_job j;
    parts_sizes(&j, w, (size_t)w->kv_len);
    const size_t n = parts_heads(&j, w) + threads * parts_floats(&j, w, nacre_f32_gemm_part(w->gemm),
                                                                 (size_t)w->kv_len) * sizeof(float);
    return nacre_max(n, nacre_attention_tiles_entry.scratch(k, words, threads));
}

const nacre_entry nacre_attention_amx_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = parts_run, .fits = parts_fits,
    .scratch = parts_scratch};

#endif
