// Attention of many queries. Panels of queries are the columns of tiles: scores are keys by
// queries, so that a softmax goes down columns, and its weights are directly the left operand of
// the product with the values. Keys and values are read unpacked if tiles can do so, and otherwise
// packed once per head. A piece of work is a few panels of queries of one head, which meet the keys
// block by block. Blocks of keys do not depend on the threads, so results do not.
#include "attention/tiles.h"
#include "core/simd.h"

// Returns the keys of a block: blocks of about equal size, in whole panels; one if scores are
// written to qk.
static size_t tiles_block(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t keys) {
    const size_t blocks = w->qk_stage != NACRE_QK_NONE ? 1 : nacre_ceil_div(keys, TILES_KEYS);
    return nacre_round_up(nacre_max(nacre_ceil_div(keys, nacre_max(blocks, 1)), 1), g->mr);
}

// Returns the largest tiles_block for that many keys or fewer.
static size_t tiles_most_block(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t keys) {
    return nacre_round_up(nacre_max(w->qk_stage != NACRE_QK_NONE ? keys : nacre_min(keys, TILES_KEYS), 1), g->mr);
}

static size_t tiles_per_thread(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t block) {
    size_t n = block * g->nr + tiles_rows(g, w) * ((size_t)w->d + tiles_sum(w));
    if (tiles_lines(w)) n += block * g->nr + (g->nr + ATTENTION_LINES) * attention_ld(block);
    return nacre_align_floats(n);
}

// Returns the floats of a head of packed keys.
static size_t tiles_k_room(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t keys) {
    return nacre_align_floats(nacre_round_up(keys, g->mr) * (size_t)w->d);
}

// Returns the same, or 0 if keys are read unpacked.
static size_t tiles_k_size(const nacre_f32_gemm_impl *g, const nacre_attention_words *w, size_t keys) {
    if (w->k.type == NACRE_DTYPE_f32 && (w->k.row < TILES_APART || w->k.row % TILES_APART != 0)) return 0;
    return tiles_k_room(g, w, keys);
}

// Returns the floats of a head of values in whole vectors, or 0 if they are read unpacked. Rows
// with gaps between them are read unpacked if few queries meet them.
static size_t tiles_v_size(const nacre_attention_words *w, size_t keys) {
    const int few = w->v.row < 2 * w->dv || w->q_len * w->heads < TILES_MANY * w->kv_heads;
    return few && w->v.type == NACRE_DTYPE_f32 && (size_t)w->dv == tiles_sum(w) ? 0 : keys * tiles_sum(w);
}

// Packs the keys of a panel: n of them from row t on.
static void tiles_pack_keys(const attention_plan *p, int64_t b, int64_t h, size_t t, size_t n, float *to) {
    const attention_args *const a = &p->a;
    const nacre_attention_rows *const r = &a->w->k;
    const size_t d = (size_t)a->w->d, mr = p->gemm->mr;
    if (r->type != NACRE_DTYPE_i8) {
        p->gemm->driver->pack_panel(p->half, d, n, attention_at(a->k, r, b, h, (int64_t)t), (nacre_dtype)r->type,
                                    (size_t)r->row, 1, mr, to);
        return;
    }
    float piece[TILES_PIECE];
    const size_t most = TILES_PIECE / mr / NACRE_CODES_BLOCK * NACRE_CODES_BLOCK;  // elements of a key at a time
    for (size_t e = 0; e < d; e += most) {
        const size_t m = nacre_min(most, d - e);
        for (size_t l = 0; l < n; l++) {
            const char *const row = attention_at(a->k, r, b, h, (int64_t)(t + l));
            p->half->decode(row + e, row + d + e / NACRE_CODES_BLOCK * NACRE_CODES_SCALE, piece + l * most, m);
        }
        p->gemm->driver->pack_panel(p->half, m, n, piece, NACRE_DTYPE_f32, most, 1, mr, to + e * mr);
    }
}

static void tiles_pack(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const attention_plan *const p = job;
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const size_t d = (size_t)w->d, dv = (size_t)w->dv, ld = tiles_sum(w), keys = (size_t)a->keys, mr = p->gemm->mr;
    const size_t step = TILES_PACK / mr * mr, parts = nacre_ceil_div(keys, step);
    const size_t head = chunk / parts, t0 = chunk % parts * step, t1 = nacre_min(t0 + step, keys);
    const int64_t b = (int64_t)head / w->kv_heads, h = (int64_t)head % w->kv_heads;
    float *const k = p->k_packed + head * p->k_size, *const v = p->v_packed + head * p->v_size;
    for (size_t t = t0; p->k_size > 0 && t < t1; t += mr) {
        tiles_pack_keys(p, b, h, t, nacre_min(mr, t1 - t), k + t * d);
    }
    for (size_t t = t0; p->v_size > 0 && t < t1; t++) {
        const char *const row = attention_at(a->v, &w->v, b, h, (int64_t)t);
        if (w->v.type == NACRE_DTYPE_i8) {
            p->half->decode(row, row + dv, v + t * ld, dv);
        } else {
            p->half->widen[w->v.type](row, v + t * ld, dv);
        }
        memset(v + t * ld + dv, 0, (ld - dv) * sizeof *v);
    }
}

// Rows that a later piece of work reads or writes, to be prefetched line by line.
typedef struct {
    const char *at;
    size_t row, bytes, rows;  // bytes from row to row, bytes of a row, and number of rows
} tiles_fetch;

enum { TILES_LINE = 64, TILES_FETCHES = 4 };

// The memory of a piece of work.
typedef struct {
    const float *keys, *values;
    size_t key, key_element;  // from one key of a tile, and from one element of a key, to the next
    size_t ld_values;
    tiles_room room;
    tiles_panel panels[TILES_PANELS];
    tiles_fetch fetches[TILES_FETCHES];
    size_t fetched;  // number of fetches that are complete
} tiles_piece;

// Prefetches rows of about TILES_LINES lines in all.
static void tiles_fetch_some(tiles_piece *x) {
    if (x->fetched == TILES_FETCHES) return;
    tiles_fetch *const f = &x->fetches[x->fetched];
    const size_t bytes = f->bytes, row = f->row,
        n = nacre_min(TILES_LINES * TILES_LINE / (bytes + !bytes) + 1, f->rows);
    const char *at = f->at;
    for (size_t i = 0; i < n; i++, at += row) {
        for (size_t e = 0; e < bytes; e += TILES_LINE) __builtin_prefetch(at + e, 0, 2);
    }
    f->at = at;
    f->rows -= n;
    if (f->rows == 0) x->fetched++;
}

// Returns a fetch of the rows from row on.
static tiles_fetch tiles_rows_ahead(const void *x, const nacre_attention_rows *r, int64_t b, int64_t h, size_t row,
                                    size_t rows, size_t d) {
    const size_t size = nacre_element_size(r->type);
    return (tiles_fetch){.at = attention_at(x, r, b, h, (int64_t)row), .row = (size_t)r->row * size, .bytes = d * size,
                         .rows = rows};
}

// Returns a fetch of rows of d floats of a packed head.
static tiles_fetch tiles_packed_ahead(const float *head, size_t row, size_t rows, size_t d) {
    return (tiles_fetch){.at = (const char *)(head + row * d), .row = d * sizeof *head, .bytes = d * sizeof *head,
                         .rows = rows};
}

// Sets the fetches for the piece after a chunk: its queries and its part of the output, and a share
// of the keys and values of the next head.
static void tiles_look_ahead(const attention_plan *p, size_t chunk, tiles_piece *x) {
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const size_t bh = chunk / p->pieces, next = (chunk + 1) / p->pieces, i0 = (chunk + 1) % p->pieces * p->rows;
    memset(x->fetches, 0, sizeof x->fetches);
    x->fetched = 0;
    if (bh + 1 >= (size_t)(w->batch * w->heads) && next != bh) return;
    const size_t rows = nacre_min(p->rows, (size_t)w->q_len - i0), keys = (size_t)a->keys;
    int64_t b = (int64_t)next / w->heads, h = (int64_t)next % w->heads;
    x->fetches[0] = tiles_rows_ahead(a->q, &w->q, b, h, i0, rows, (size_t)w->d);
    x->fetches[1] = tiles_rows_ahead(a->out, &w->out, b, h, i0, rows, (size_t)w->dv);
    if (bh + 1 >= (size_t)(w->batch * w->heads) || keys * (size_t)(w->d + w->dv) * sizeof(float) > TILES_FETCH) return;
    b = (int64_t)(bh + 1) / w->heads;
    h = (int64_t)(bh + 1) % w->heads;
    if ((size_t)h % p->group != 0) return;
    h /= (int64_t)p->group;
    const size_t kv = (size_t)(b * w->kv_heads + h);
    const size_t share = nacre_ceil_div(keys, p->pieces), first = nacre_min(chunk % p->pieces * share, keys),
        n = nacre_min(share, keys - first);
    x->fetches[2] = p->k_size > 0 ? tiles_packed_ahead(p->k_packed + kv * p->k_size, first, n, (size_t)w->d)
                                  : tiles_rows_ahead(a->k, &w->k, b, h, first, n, (size_t)w->d);
    x->fetches[3] = p->v_size > 0 ? tiles_packed_ahead(p->v_packed + kv * p->v_size, first, n, tiles_sum(w))
                                  : tiles_rows_ahead(a->v, &w->v, b, h, first, n, (size_t)w->dv);
}

// Computes the scores of keys c0 to c1 - 1.
static void tiles_products(const attention_plan *p, tiles_piece *x, const tiles_panel *y, size_t c0, size_t c1) {
    const nacre_f32_gemm_impl *const g = p->gemm;
    const size_t d = (size_t)p->a.w->d;
    for (size_t j = c0; j < c1; j += g->mr) {
        tiles_fetch_some(x);
        const float *const keys = x->keys + j * (p->k_size > 0 ? d : x->key);
        g->strided(d, keys, x->key, x->key_element, y->q, g->nr, x->room.s + (j - c0) * g->nr, g->nr,
                   nacre_min(g->mr, c1 - j), y->cols, NULL);
    }
}

// Multiplies the weights of keys c0 to c1 - 1 by their values. The first block stores into sums;
// later blocks add.
static void tiles_sums(const attention_plan *p, const tiles_piece *x, tiles_panel *y, size_t c0, size_t c1) {
    const nacre_f32_gemm_impl *const g = p->gemm;
    const size_t dv = tiles_sum(p->a.w), rows = g->driver->panel_rows(g, y->n);
    nacre_f32_epilogue sum = {.alpha = 1, .ld_add = dv};
    for (size_t e = 0; e < dv; e += g->nr) {
        const float *const values = x->values + c0 * x->ld_values + e;
        for (size_t i = 0; i < y->n; i += rows) {
            float *const to = y->sums + i * dv + e;
            sum.add = to;
            g->strided(c1 - c0, x->room.s + i, 1, g->nr, values, x->ld_values, to, dv, nacre_min(rows, y->n - i),
                       nacre_min(g->nr, dv - e), y->started ? &sum : NULL);
        }
    }
    y->started = 1;
}

// Writes the sums to rows of the output.
static void tiles_end(const attention_plan *p, tiles_panel *y) {
    for (size_t i = 0; i < y->n; i++) {
        y->rows[i].sum = y->sum[i];
        attention_end(p, &y->rows[i], y->sums + i * tiles_sum(p->a.w));
    }
}

// Sets the keys and values of a head, and the scratch of a thread.
static void tiles_operands(const attention_plan *p, int64_t b, int64_t h, size_t thread, tiles_piece *x) {
    const nacre_attention_words *const w = p->a.w;
    const size_t kv = (size_t)b * (size_t)w->kv_heads + (size_t)h / p->group, nr = p->gemm->nr;
    x->keys = p->k_size > 0 ? p->k_packed + kv * p->k_size : attention_at(p->a.k, &w->k, b, h / (int64_t)p->group, 0);
    x->key = p->k_size > 0 ? 1 : (size_t)w->k.row;
    x->key_element = p->k_size > 0 ? p->gemm->mr : 1;
    x->values = p->v_size > 0 ? p->v_packed + kv * p->v_size : attention_at(p->a.v, &w->v, b, h / (int64_t)p->group, 0);
    x->ld_values = p->v_size > 0 ? tiles_sum(w) : (size_t)w->v.row;
    x->room.s = p->threads + thread * p->per_thread;
    float *at = x->room.s + p->block * nr;
    for (size_t i = 0; i < p->rows / nr; i++) {
        x->panels[i].q = at;
        x->panels[i].sums = at + nr * (size_t)w->d;
        at += nr * ((size_t)w->d + tiles_sum(w));
    }
    x->room.bias = at;
    x->room.rows = x->room.bias + p->block * nr;
    x->room.lines = x->room.rows + nr * p->ld;
}

static void tiles_chunk(void *job, size_t chunk, size_t thread) {
    const attention_plan *const p = job;
    const nacre_attention_words *const w = p->a.w;
    const size_t i0 = chunk % p->pieces * p->rows, bh = chunk / p->pieces, nr = p->gemm->nr;
    const size_t panels = nacre_ceil_div(nacre_min(p->rows, (size_t)w->q_len - i0), nr);
    const int64_t b = (int64_t)bh / w->heads, h = (int64_t)bh % w->heads;
    tiles_piece x;
    tiles_operands(p, b, h, thread, &x);
    tiles_look_ahead(p, chunk, &x);
    size_t lo = (size_t)p->a.keys, hi = 0;
    for (size_t i = 0; i < panels; i++) {
        tiles_begin(p, b, h, i0 + i * nr, &x.panels[i]);
        lo = nacre_min(lo, x.panels[i].lo);
        hi = nacre_max(hi, x.panels[i].hi);
    }
    for (size_t t = lo / p->block * p->block; t < hi && !nacre_stopped(p->team); t += p->block) {
        for (size_t i = 0; i < panels; i++) {
            tiles_panel *const y = &x.panels[i];
            const size_t c0 = nacre_max(y->lo, t) / p->gemm->mr * p->gemm->mr, c1 = nacre_min(t + p->block, y->hi);
            if (c0 >= c1) continue;
            tiles_products(p, &x, y, c0, c1);
            tiles_weights(p, &x.room, y, c0, c1, y->started ? y->sums : NULL);
            tiles_sums(p, &x, y, c0, c1);
        }
    }
    for (size_t i = 0; i < panels; i++) tiles_end(p, &x.panels[i]);
}

static void tiles_run(const nacre_call *c) {
    attention_plan p = {0};
    if (!attention_start(c, &p)) return;
    const nacre_attention_words *const w = p.a.w;
    if (w->batch * w->heads * w->q_len == 0) return;
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)p.a.keys;
    p.block = tiles_block(p.gemm, w, keys);
    p.ld = attention_ld(p.block);
    p.rows = tiles_rows(p.gemm, w);
    p.pieces = nacre_ceil_div((size_t)w->q_len, p.rows);
    p.per_thread = tiles_per_thread(p.gemm, w, p.block);
    p.k_size = tiles_k_size(p.gemm, w, keys);
    p.v_size = tiles_v_size(w, keys);
    p.k_packed = c->scratch;
    p.v_packed = p.k_packed + heads * p.k_size;
    p.threads = p.v_packed + heads * p.v_size;
    const size_t step = TILES_PACK / p.gemm->mr * p.gemm->mr;
    if (p.k_size + p.v_size > 0) nacre_parallel(c->team, heads * nacre_ceil_div(keys, step), tiles_pack, &p);
    nacre_parallel(c->team, (size_t)(w->batch * w->heads) * p.pieces, tiles_chunk, &p);
}

static int tiles_fits(const nacre_kernel *k, const int64_t *words) {
    const nacre_f32_gemm_impl *const g =
        nacre_f32_gemm_part(((const nacre_attention_words *)(const void *)words)->gemm);
    return g->nr <= TILES_WIDTH && g->nr % ((nacre_f32_attention_fn *)k->fn)()->lanes == 0;
}

static size_t tiles_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_attention_words *const w = (const void *)words;
    const nacre_f32_gemm_impl *const g = nacre_f32_gemm_part(w->gemm);
    const size_t heads = (size_t)(w->batch * w->kv_heads), keys = (size_t)w->kv_len;
    // If strides and widths of heads grow, heads may have to be packed.
    const size_t k_size = w->k.type == NACRE_DTYPE_f32 && w->k.row < TILES_APART ? 0 : tiles_k_room(g, w, keys);
    const size_t packed = k_size + keys * tiles_sum(w);
    return (heads * packed + threads * tiles_per_thread(g, w, tiles_most_block(g, w, keys))) * sizeof(float);
}

const nacre_entry nacre_attention_tiles_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = tiles_run, .fits = tiles_fits,
    .scratch = tiles_scratch};
