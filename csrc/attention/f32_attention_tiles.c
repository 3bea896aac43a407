// Attention of many queries. Keys and values are packed once per head for the tiles of
// f32_gemm. A piece of work is a few panels of queries of one head, which meet the
// keys block by block: products, one step of the softmax, products with the values.
// Blocks of keys do not depend on the threads, so results do not.
#include "attention/f32_attention.h"
#include "core/simd.h"

enum { TILES_MOST_ROWS = ATTENTION_PANELS * 32 };

static size_t tiles_rows(const nacre_f32_gemm_impl *g, const nacre_attention_words *w) {
    return nacre_min((size_t)w->q_len, ATTENTION_PANELS * g->mr);
}

static size_t tiles_per_thread(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t rows, size_t block) {
    const size_t n = (rows + ATTENTION_LINES) * attention_ld(block) + rows * (size_t)w->d + g->mr * block;
    return nacre_align_floats(n) + attention_acc(w, rows);
}

static void tiles_pack(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const attention_plan *const p = job;
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const size_t d = (size_t)w->d, dv = (size_t)w->dv, keys = (size_t)a->keys;
    const size_t nr = p->gemm->nr, step = ATTENTION_PACK / nr * nr, parts = nacre_ceil_div(keys, step);
    const size_t head = chunk / parts, t0 = chunk % parts * step, t1 = nacre_min(t0 + step, keys);
    const int64_t b = (int64_t)head / w->kv_heads, h = (int64_t)head % w->kv_heads;
    float *const k = p->k_packed + head * p->k_size, *const v = p->v_packed + head * p->v_size;
    for (size_t t = t0; t < t1; t += nr) {
        p->gemm->driver->pack_panel(p->half, d, nacre_min(nr, t1 - t), attention_at(a->k, &w->k, b, h, (int64_t)t),
                                    (nacre_float_type)w->k.type, (size_t)w->k.row, 1, nr, k + t * d);
    }
    for (size_t e = 0; e < dv; e += nr) {
        const void *const from = nacre_element_at(attention_at(a->v, &w->v, b, h, (int64_t)t0), w->v.type, (int64_t)e);
        p->gemm->driver->pack_panel(p->half, t1 - t0, nacre_min(nr, dv - e), from, (nacre_float_type)w->v.type, 1, (size_t)w->v.row, nr,
                                    v + e * keys + t0 * nr);
    }
}

// What a piece of work has.
typedef struct {
    size_t n;  // rows
    attention_row rows[TILES_MOST_ROWS];
    const float *keys, *values;
    float *s, *lines, *weights, *q, *sums;
    size_t ld_sums;
} tiles_piece;

// Scores of keys c0 to c1 - 1.
static void tiles_products(const attention_plan *p, const tiles_piece *x, size_t c0, size_t c1) {
    const nacre_f32_gemm_impl *const g = p->gemm;
    const nacre_attention_words *const w = p->a.w;
    const size_t d = (size_t)w->d;
    const nacre_f32_epilogue product = {.alpha = w->cap == 0 ? (float)w->scale : (float)w->scale / (float)w->cap};
    for (size_t j = c0; j < c1; j += g->nr) {
        for (size_t i = 0; i < x->n; i += g->mr) {
            const size_t m = nacre_min(g->mr, x->n - i);
            g->tile(d, x->q + i * d, m, x->keys + j * d, x->s + i * p->ld + (j - c0), p->ld, m, nacre_min(g->nr, c1 - j), &product);
        }
    }
}

// The values of keys c0 to c1 - 1, weighted, go to the sums: are these, or come to them.
static void tiles_sums(const attention_plan *p, tiles_piece *x, size_t c0, size_t c1, int started) {
    const nacre_f32_gemm_impl *const g = p->gemm;
    const size_t dv = (size_t)p->a.w->dv, keys = (size_t)p->a.keys;
    nacre_f32_epilogue sum = {.alpha = 1, .ld_add = x->ld_sums};
    for (size_t i = 0; i < x->n; i += g->mr) {
        const size_t m = nacre_min(g->mr, x->n - i);
        for (size_t r = i; r < i + m; r++) {
            attention_scores(p, &x->rows[r], x->s + r * p->ld, c0, c1, x->lines);
            if (!started || x->rows[r].factor == 1) continue;
            NACRE_SIMD for (size_t e = 0; e < dv; e++) x->sums[r * x->ld_sums + e] *= x->rows[r].factor;
        }
        g->driver->pack_panel(p->half, c1 - c0, m, x->s + i * p->ld, NACRE_FLOAT32, p->ld, 1, m, x->weights);
        for (size_t e = 0; e < dv; e += g->nr) {
            float *const to = x->sums + i * x->ld_sums + e;
            sum.add = started ? to : NULL;
            g->tile(c1 - c0, x->weights, m, x->values + e * keys + c0 * g->nr, to, x->ld_sums, m, nacre_min(g->nr, dv - e), &sum);
        }
    }
}

static void tiles_chunk(void *job, size_t chunk, size_t thread) {
    const attention_plan *const p = job;
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const nacre_f32_gemm_impl *const g = p->gemm;
    const size_t i0 = chunk % p->pieces * p->rows, bh = chunk / p->pieces, d = (size_t)w->d;
    const int64_t b = (int64_t)bh / w->heads, h = (int64_t)bh % w->heads;
    const size_t kv = (size_t)b * (size_t)w->kv_heads + (size_t)h / p->group;
    tiles_piece x = {.n = nacre_min(p->rows, (size_t)w->q_len - i0), .keys = p->k_packed + kv * p->k_size, .values = p->v_packed + kv * p->v_size};
    x.s = p->threads + thread * p->per_thread;
    x.lines = x.s + p->rows * p->ld;
    x.weights = x.lines + ATTENTION_LINES * p->ld;
    x.q = x.weights + g->mr * p->block;
    for (size_t i = 0; i < x.n; i++) x.rows[i] = attention_begin(p, b, h, (int64_t)(i0 + i));
    for (size_t i = 0; i < x.n; i += g->mr) {
        const size_t m = nacre_min(g->mr, x.n - i);
        g->driver->pack_panel(p->half, d, m, attention_at(a->q, &w->q, b, h, (int64_t)(i0 + i)), (nacre_float_type)w->q.type, (size_t)w->q.row, 1,
                              m, x.q + i * d);
    }
    x.sums = attention_sums(p, &x.rows[0], p->threads + (thread + 1) * p->per_thread - p->acc, 0);
    x.ld_sums = (size_t)(p->acc == 0 ? w->out.row : w->dv);
    size_t lo, hi;
    attention_rows_range(p, x.rows, x.n, &lo, &hi);
    int started = 0;
    for (size_t t = lo / p->block * p->block; t < hi && !nacre_stopped(p->team); t += p->block) {
        const size_t c0 = nacre_max(lo, t) / g->nr * g->nr, c1 = nacre_min(t + p->block, hi);
        tiles_products(p, &x, c0, c1);
        tiles_sums(p, &x, c0, c1, started);
        started = 1;
    }
    for (size_t i = 0; i < x.n; i++) attention_end(p, &x.rows[i], x.sums + i * x.ld_sums);
}

static void tiles_run(const nacre_call *c) {
    attention_plan p = {0};
    if (!attention_start(c, &p)) return;
    const nacre_attention_words *const w = p.a.w;
    if (w->batch * w->heads * w->q_len == 0) return;
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)p.a.keys;
    p.block = attention_block(w, keys, p.gemm->nr);
    p.ld = attention_ld(p.block);
    p.rows = tiles_rows(p.gemm, w);
    p.pieces = nacre_ceil_div((size_t)w->q_len, p.rows);
    p.acc = attention_acc(w, p.rows);
    p.per_thread = tiles_per_thread(p.gemm, w, p.rows, p.block);
    p.k_size = p.gemm->driver->packed_b(p.gemm, keys, (size_t)w->d);
    p.v_size = p.gemm->driver->packed_b(p.gemm, (size_t)w->dv, keys);
    p.k_packed = c->scratch;
    p.v_packed = p.k_packed + heads * p.k_size;
    p.threads = p.v_packed + heads * p.v_size;
    const size_t step = ATTENTION_PACK / p.gemm->nr * p.gemm->nr;
    nacre_parallel(c->team, heads * nacre_ceil_div(keys, step), tiles_pack, &p);
    nacre_parallel(c->team, (size_t)(w->batch * w->heads) * p.pieces, tiles_chunk, &p);
}

static size_t tiles_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_attention_words *const w = (const void *)words;
    const nacre_f32_gemm_impl *const g = nacre_f32_gemm_part(w->gemm);
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)w->kv_len;
    const size_t packed = g->driver->packed_b(g, keys, (size_t)w->d) + g->driver->packed_b(g, (size_t)w->dv, keys);
    return (heads * packed + threads * tiles_per_thread(g, w, tiles_rows(g, w), attention_most_block(w, keys, g->nr))) * sizeof(float);
}

const nacre_entry nacre_attention_tiles_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = tiles_run, .scratch = tiles_scratch};
