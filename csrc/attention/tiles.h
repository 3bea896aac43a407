// Code shared by the commands that compute attention of many queries by tiles.
//
// Panels of queries are the columns of tiles: scores are keys by queries, so that a softmax goes
// down columns. A piece of work is a few panels of queries of one head, which meet the keys block
// by block. Blocks of keys do not depend on the threads, so results do not.
#ifndef NACRE_ATTENTION_TILES_H
#define NACRE_ATTENTION_TILES_H

#include "attention/f32_attention.h"

#define TILES_LOG2E 0x1.715476p0

enum {
    TILES_PANELS = 4,   // panels of queries of one piece of work
    TILES_WIDTH = 32,   // largest number of queries of a panel
    TILES_KEYS = 256,   // keys of a block, about
    TILES_PACK = 256,   // keys of a piece of packing, about
    TILES_PIECE = 2048, // elements of int8 keys that are widened before they are packed, at most
    TILES_MANY = 256,   // queries per key from which packing pays
    TILES_LINES = 14,   // lines of a cache prefetched beside a tile of scores, about
    TILES_FETCH = 1 << 19,  // bytes of keys and values of a head that are prefetched before its turn
    TILES_APART = 512   // floats: rows that are multiples of this apart share few sets of a cache
};

static int tiles_lines(const nacre_attention_words *w) {
    return w->bias_cols != 0 || w->mask != NACRE_MASK_NONE || w->qk_stage != NACRE_QK_NONE;
}

// Returns the queries of a piece of work, in whole panels.
static size_t tiles_rows(const nacre_f32_gemm_impl *g, const nacre_attention_words *w) {
    return nacre_min(nacre_round_up((size_t)w->q_len, g->nr), TILES_PANELS * g->nr);
}

// Returns the floats of a row of sums: whole vectors of any level.
static size_t tiles_sum(const nacre_attention_words *w) { return nacre_align_floats((size_t)w->dv); }

// The queries of a panel.
typedef struct {
    size_t n, cols;  // queries; columns, in whole vectors
    size_t lo, hi;   // keys that any of them attends to
    int started;     // sums have been written
    attention_row rows[TILES_WIDTH];
    float top[TILES_WIDTH], sum[TILES_WIDTH];
    float *q, *sums;
} tiles_panel;

// Memory for scores and the steps on them.
typedef struct {
    float *s;                   // keys by queries
    float *bias, *lines, *rows; // if there is a bias or qk
} tiles_room;

// Reports whether queries are multiplied by the scale, not their scores.
static int tiles_scales(const attention_plan *p) { return p->a.w->cap != 0 || p->a.qk != NULL; }

static void tiles_begin(const attention_plan *p, int64_t b, int64_t h, size_t i0, tiles_panel *x) {
    const nacre_attention_words *const w = p->a.w;
    const size_t d = (size_t)w->d, nr = p->gemm->nr;
    x->n = nacre_min(nr, (size_t)w->q_len - i0);
    x->cols = nacre_round_up(x->n, p->impl->lanes);
    x->started = 0;
    for (size_t i = 0; i < nr; i++) {
        if (i < x->n) x->rows[i] = attention_begin(p, b, h, (int64_t)(i0 + i));
        x->top[i] = i < x->n ? x->rows[i].top * (float)TILES_LOG2E : 0;
        x->sum[i] = i < x->n ? x->rows[i].sum : 0;
    }
    attention_rows_range(p, x->rows, x->n, &x->lo, &x->hi);
    p->gemm->driver->pack_panel(p->half, d, x->n, attention_at(p->a.q, &w->q, b, h, (int64_t)i0),
                                (nacre_dtype)w->q.type, (size_t)w->q.row, 1, nr, x->q);
    if (!tiles_scales(p)) return;
    const float scale = w->cap == 0 ? (float)w->scale : (float)w->scale / (float)w->cap;
    float *const q = x->q;
    NACRE_SIMD for (size_t i = 0; i < d * nr; i++) q[i] *= scale;
}

// Returns the bias of keys c0 to c1 - 1 in the layout of scores, or NULL.
static const float *tiles_bias(const attention_plan *p, const tiles_room *x, const tiles_panel *y, size_t c0,
                               size_t c1) {
    const nacre_attention_words *const w = p->a.w;
    const attention_row *const r = &y->rows[0];
    if (p->a.bias == NULL && p->a.mask == NULL) return NULL;
    if (p->a.mask == NULL && w->bias_type == NACRE_DTYPE_f32 && w->bias_col == 1) {
        const float *const from = (const float *)p->a.bias + attention_bias_row(w, r->batch, r->head, r->query) + c0;
        p->gemm->driver->pack_panel(p->half, c1 - c0, y->n, from, NACRE_DTYPE_f32, (size_t)w->bias_row, 1, p->gemm->nr,
                                    x->bias);
        return x->bias;
    }
    memset(x->rows, 0, y->n * p->ld * sizeof *x->rows);
    for (size_t i = 0; i < y->n; i++) {
        const size_t lo = nacre_max(y->rows[i].lo, c0), hi = nacre_min(y->rows[i].hi, c1);
        float *const line = x->rows + i * p->ld + (lo - c0);
        if (lo >= hi) continue;
        const float *const from = attention_line(p, &y->rows[i], lo, hi, line);
        if (from != line) memcpy(line, from, (hi - lo) * sizeof *line);
    }
    p->gemm->driver->pack_panel(p->half, c1 - c0, y->n, x->rows, NACRE_DTYPE_f32, p->ld, 1, p->gemm->nr, x->bias);
    return x->bias;
}

// Turns the scores of all keys into weights, one query after the other, and writes qk.
static void tiles_show(const attention_plan *p, const tiles_room *x, tiles_panel *y, size_t c0, size_t c1) {
    const size_t nr = p->gemm->nr;
    p->gemm->driver->pack_panel(p->half, y->n, c1 - c0, x->s, NACRE_DTYPE_f32, nr, 1, p->ld, x->rows);
    for (size_t i = 0; i < y->n; i++) {
        attention_scores(p, &y->rows[i], x->rows + i * p->ld, c0, c1, x->lines);
        y->sum[i] = y->rows[i].sum;
    }
    p->gemm->driver->pack_panel(p->half, c1 - c0, y->n, x->rows, NACRE_DTYPE_f32, p->ld, 1, nr, x->s);
}

// Turns scores into weights, and scales sums unless sums is NULL.
static void tiles_weights(const attention_plan *p, const tiles_room *x, tiles_panel *y, size_t c0, size_t c1,
                          float *sums) {
    const nacre_attention_words *const w = p->a.w;
    const float none[2] = {0, 0};
    float lo[TILES_WIDTH] = {0}, hi[TILES_WIDTH] = {0};
    if (p->a.qk != NULL) {
        tiles_show(p, x, y, c0, c1);
        return;
    }
    const size_t nr = p->gemm->nr;
    if (w->cap != 0) p->tanh(x->s, x->s, (c1 - c0) * nr, none);
    size_t from = 0, to = c1 - c0;
    for (size_t i = 0; i < y->n; i++) {
        const size_t first = nacre_max(y->rows[i].lo, c0) - c0, end = nacre_max(nacre_min(y->rows[i].hi, c1), c0) - c0;
        lo[i] = (float)first;
        hi[i] = (float)end;
        from = nacre_max(from, nacre_min(first, c1 - c0));
        to = nacre_min(to, end);
    }
    const nacre_softmax_columns columns = {
        .n = c1 - c0, .width = nr, .x = x->s, .gain = w->cap == 0 ? (float)w->scale : (float)w->cap,
        .bias = tiles_bias(p, x, y, c0, c1),
        .lo = lo, .hi = hi, .from = from, .to = nacre_max(from, to), .top = y->top, .sum = y->sum, .sums = sums,
        .ld_sums = tiles_sum(w), .rows = y->n,
    };
    p->impl->columns(&columns);
}

#endif
