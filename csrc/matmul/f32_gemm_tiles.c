// Tiles of f32_gemm: strips of b by panels of a.
#include <string.h>

#include "matmul/blocks.h"
#include "matmul/f32_gemm_plan.h"

enum {
    COPY_ROWS = 4,    // rows that fit a set of the first-level cache
    COPY_PANELS = 4,  // panels of b from which copying rows of a that share sets pays
    FETCH_PANELS = 2  // row panels from which a block of b lasts until the next one is fetched
};

void nacre_f32_gemm_pack_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gemm_plan *const p = job;
    const nacre_f32_gemm *const g = &p->g;
    const size_t panels = nacre_ceil_div(g->m, p->rows);
    const size_t matrix = chunk / panels, i = chunk % panels * p->rows;
    const size_t offset = nacre_batch_distinct_offset(&g->batch, 0, matrix);
    for (size_t r = i; p->a_wide && r < nacre_min(g->m, i + p->rows); r++) {
        g->impl->half()->widen[g->a.type](gemm_at(&g->a, offset + r * g->a.row),
                                          p->a_packed + matrix * p->a_size + r * p->a_row, g->k);
    }
    if (p->a_wide) return;
    if (g->a.packed) {
        g->impl->half()->widen[g->a.type](gemm_at(&g->a, offset + i * g->k),
                                          p->a_packed + matrix * p->a_size + i * g->k, p->rows * g->k);
        return;
    }
    nacre_f32_pack_panel(g->impl->half(), g->k, nacre_min(p->rows, g->m - i), gemm_at(&g->a, offset + i * g->a.row),
                         g->a.type, g->a.row, g->a.col, p->rows, p->a_packed + matrix * p->a_size + i * g->k);
}

static void pack_b_block(const gemm_plan *p, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    const nacre_f32_gemm *const g = &p->g;
    if (g->make_b != NULL) {
        g->make_b(g->source, index, k0, k, j0, n, dst);
        return;
    }
    const size_t nr = g->impl->nr, offset = nacre_batch_offset(&g->batch, 1, index);
    if (p->pairs || (!g->b.packed && g->b.type == NACRE_DTYPE_f32)) {
        const nacre_f32_operand b = {gemm_at(&g->b, offset + k0 * g->b.row + j0 * g->b.col), 0, g->b.type, g->b.row,
                                     g->b.col};
        nacre_f32_gemm_pack_b(g->impl, n, k, &b, dst);
        return;
    }
    for (size_t j = 0; j < n; j += nr) {
        if (g->b.packed) {
            g->impl->half()->widen[g->b.type](gemm_at(&g->b, offset + (j0 + j) * g->k + k0 * nr), dst + j * k, k * nr);
            continue;
        }
        nacre_f32_pack_panel(g->impl->half(), k, nacre_min(nr, n - j),
                             gemm_at(&g->b, offset + k0 * g->b.row + (j0 + j) * g->b.col), g->b.type,
                             g->b.col, g->b.row, nr, dst + j * k);
    }
}

typedef struct {
    size_t index;           // of the product
    size_t k0, k;
    int last;               // the sums end with this block of k
    size_t i0, i1, j0, j1;  // the piece of c
    const void *a;          // of the product: all panels, or unpacked
    float *rows;            // memory for a copy of rows of a
    float *block;           // memory for b
    const void *b;          // panel of column j0, row k0, or of the strip in use
    size_t b_panel, b_row;  // from one panel of b to the next, and from row to row
    const float *b_last;    // the panel that is not whole, if others are read unpacked
    int b_packs;            // strips are packed when the first block of rows reaches them
    float *c;               // row i0, column j0
    size_t ldc;
    nacre_f32_epilogue e;   // for row 0 and column 0 of c
    // The memory after b, to be prefetched while this block is in use: panels of next_bytes each.
    const char *next;
    size_t next_panels, next_bytes, next_step;
    int next_once;          // even for a single panel of a
} tile_block;

// Rows i to i + m - 1 of a in panels, from step k0 of the sums on, and columns j to j_end - 1 of b.
typedef struct {
    size_t i, m;
    const float *a;
    size_t row, col, panel;  // from one row of a to the next, from one p to the next, and from one panel to the next
    size_t j, j_end;
    const char *b;
} tile_strip;

// Returns the epilogue of the tile at row i and column j.
static nacre_f32_epilogue tile_epilogue(const tile_block *t, size_t i, size_t j) {
    nacre_f32_epilogue e = t->e;
    if (e.add != NULL) e.add += (i - t->i0) * e.ld_add + (j - t->j0);
    if (e.row != NULL) e.row += i;
    if (e.col != NULL) e.col += j;
    return e;
}

// Returns the bytes from one panel of b to the next.
static size_t panel_bytes(const gemm_plan *p, const tile_block *t) {
    return t->b_panel * nacre_float_size(p->b_row || p->pairs ? p->g.b.type : NACRE_DTYPE_f32);
}

// Multiplies row i, the numbers at a, by a strip.
static void run_row(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i, const void *a, size_t lda) {
    const size_t nr = p->g.impl->nr, step = panel_bytes(p, t);
    float *const row = t->c + (i - t->i0) * t->ldc;
    size_t count;
    for (size_t j = s->j; j < s->j_end; j += count * nr) {
        const void *b[NACRE_GEMM_PANELS];
        float *c[NACRE_GEMM_PANELS];
        nacre_f32_epilogue e[NACRE_GEMM_PANELS];
        count = nacre_max(1, nacre_min(NACRE_GEMM_PANELS, (s->j_end - j) / nr));
        for (size_t q = 0; q < count; q++) {
            const size_t at = j + q * nr;
            b[q] = s->b + (at - s->j) / nr * step;
            c[q] = row + (at - t->j0);
            e[q] = tile_epilogue(t, i, at);
        }
        const size_t n = nacre_min(nr, s->j_end - j);
        if (p->pairs) {
            p->g.impl->pairs->row(count, t->k, a, b, c, n, e);
        } else {
            p->g.impl->row(p->b_row ? p->g.b.type : NACRE_DTYPE_f32, count, t->k, a, lda, b, c, n, e);
        }
    }
}

// Sets the prefetch of the tile of panel q of a strip at row panel i of n: its share of the same
// panel of the next strip, if that is packed, or of the next block.
static void fetch_next(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i, size_t n, size_t q,
                       nacre_f32_epilogue *e) {
    if (n < FETCH_PANELS && !t->next_once) return;
    const size_t nr = p->g.impl->nr, ahead = s->j_end + q * nr;
    if (ahead < t->j1) {
        if (t->b_packs || p->b_plain) return;
        e->next_bytes = t->k * nr * sizeof(float) / n;
        e->next = (const char *)t->b + (ahead - t->j0) / nr * panel_bytes(p, t) + i * e->next_bytes;
    } else if (q < t->next_panels) {
        e->next_bytes = t->next_bytes / n;
        e->next = t->next + q * t->next_step + i * e->next_bytes;
    }
}

// Sets s to rows i to i + m - 1 of a, read in place or copied. If there are blocks of rows and
// enough columns to pay for it, the rows are packed into panels. If there are no blocks, rows that
// evict each other are copied. Pairs of 16-bit floats are never copied.
static void take_rows(const gemm_plan *p, const tile_block *t, size_t i, size_t m, tile_strip *s) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t columns = t->j1 - t->j0;
    *s = (tile_strip){.i = i, .m = m};
    if (p->pairs) return;
    s->a = (const float *)t->a + i * (p->a_plain || p->a_wide ? p->a_row : g->k) + t->k0 * p->a_col;
    s->row = p->a_row;
    s->col = p->a_col;
    s->panel = p->rows * (p->a_plain || p->a_wide ? p->a_row : g->k);
    const size_t apart = s->row * sizeof(float);
    if (!p->a_plain || s->col != 1) return;
    if (p->m_step > p->rows) {
        if (!gemm_packs_rows(apart, columns / g->impl->nr)) return;
        for (size_t r = 0; r < m; r += p->rows) {
            nacre_f32_pack_panel(g->impl->half(), t->k, nacre_min(p->rows, m - r), s->a + r * s->row, NACRE_DTYPE_f32,
                                 s->row, 1, p->rows, t->rows + r * t->k);
        }
        s->row = 1;
        s->col = p->rows;
        s->panel = p->rows * t->k;
    } else {
        const size_t pitch = t->k + GEMM_PITCH;
        if (!gemm_same_sets(apart) || m <= COPY_ROWS || columns < COPY_PANELS * g->impl->nr ||
            m * pitch > p->rows_size) {
            return;
        }
        for (size_t r = 0; r < m; r++) memcpy(t->rows + r * pitch, s->a + r * s->row, t->k * sizeof(float));
        s->row = pitch;
    }
    s->a = t->rows;
}

// Multiplies the panel of rows from row i on by the strip.
static void run_panel(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, m = nacre_min(p->rows, s->i + s->m - i), step = panel_bytes(p, t);
    // The rows that a strip meets before the next strip is in use.
    const size_t first = p->m_step > p->rows ? s->i : t->i0, end = p->m_step > p->rows ? s->i + s->m : t->i1;
    const size_t panel = (i - first) / p->rows, panels = nacre_ceil_div(end - first, p->rows);
    const uint16_t *const pairs = p->pairs ? (const uint16_t *)t->a + i * p->a_row + t->k0 : NULL;
    const float *const a = s->a + (i - s->i) / p->rows * s->panel;
    const char *b = s->b;
    if (m == 1 && !p->b_plain) run_row(p, t, s, i, p->pairs ? (const void *)pairs : a, p->pairs ? 1 : s->col);
    for (size_t j = s->j; (m > 1 || p->b_plain) && j < s->j_end; j += nr, b += step) {
        const size_t n = nacre_min(nr, s->j_end - j);
        const int last = n < nr && t->b_last != NULL;
        float *const c = t->c + (i - t->i0) * t->ldc + (j - t->j0);
        nacre_f32_epilogue e = tile_epilogue(t, i, j);
        fetch_next(p, t, s, panel, panels, (j - s->j) / nr, &e);
        if (p->pairs) {
            g->impl->pairs->tile(t->k, pairs, p->a_row, (const void *)b, t->b_row, c, t->ldc, m, n, &e);
        } else {
            g->impl->strided(t->k, a, s->row, s->col, last ? t->b_last : (const void *)b, last ? nr : t->b_row, c,
                             t->ldc, m, n, &e);
        }
    }
    for (size_t r = i; t->last && g->finish.map != NULL && r < i + m; r++) {
        float *const line = t->c + (r - t->i0) * t->ldc + (s->j - t->j0);
        g->finish.map(line, line, s->j_end - s->j, g->finish.params);
    }
}

static void run_tiles(const gemm_plan *p, tile_block *t) {
    const size_t nr = p->g.impl->nr, step = panel_bytes(p, t);
    const int packs = t->b_packs;
    tile_strip s;
    for (size_t i = t->i0; i < t->i1; i += p->m_step, t->b_packs = 0) {
        take_rows(p, t, i, nacre_min(p->m_step, t->i1 - i), &s);
        for (s.j = t->j0; s.j < t->j1; s.j = s.j_end) {
            s.j_end = nacre_min(t->j1, s.j + p->n_strip);
            s.b = (const char *)t->b + (packs && p->one_strip ? 0 : (s.j - t->j0) / nr * step);
            if (t->b_packs) pack_b_block(p, t->index, t->k0, t->k, s.j, s.j_end - s.j, (float *)s.b);
            for (size_t r = i; r < i + s.m; r += p->rows) {
                if (nacre_stopped(p->team)) return;
                run_panel(p, t, &s, r);
            }
        }
    }
}

// Sets the place of the block's part of b, which may still have to be packed.
static void take_b(const gemm_plan *p, tile_block *t) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, n = t->j1 - t->j0, whole = n / nr * nr;
    t->b_row = nr;
    t->b_packs = 0;
    if (p->b_plain) {
        t->b = gemm_at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + t->k0 * g->b.row + t->j0);
        t->b_panel = nr;
        t->b_row = g->b.row;
        if (p->pairs) return;
        t->b_last = t->block;
        if (whole < n) pack_b_block(p, t->index, t->k0, t->k, t->j0 + whole, n - whole, t->block);
    } else if (p->b_size == 0) {
        t->b = gemm_at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + t->j0 * g->k + t->k0 * nr);
        t->b_panel = g->k * nr;
    } else {
        t->b_packs = 1;
        t->b = t->block;
        t->b_panel = t->k * nr;
    }
}

// Finds the block of packed b after this one: in the piece of columns j_first to j_end - 1, or in
// the piece that this thread may take next.
static void find_next(const gemm_plan *p, tile_block *t, size_t j_first, size_t j_end) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, row = nr * nacre_float_size(g->b.type);
    size_t j0 = t->j0, k0 = t->k0 + t->k, end = j_end;
    t->next_panels = 0;
    if (t->last) {
        j0 = t->j1;
        k0 = 0;
    }
    if (j0 >= j_end) {
        j0 = j_first + nacre_team_threads(p->team) * p->j_step;
        end = nacre_min(g->n, j0 + p->j_step);
    }
    if (j0 >= g->n) return;
    t->next_panels = nacre_ceil_div(nacre_min(end, j0 + p->n_step) - j0, nr);
    t->next_step = g->k * row;
    t->next_bytes = nacre_min(p->k_step, g->k - k0) * row;
    t->next_once = gemm_is_half(g->b.type);
    t->next = gemm_at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + j0 * g->k + k0 * nr);
}

void nacre_f32_gemm_tiles_chunk(void *job, size_t chunk, size_t thread) {
    const gemm_plan *const p = job;
    const nacre_f32_gemm *const g = &p->g;
    const size_t per_product = p->i_count * p->j_count;
    const size_t index = chunk / per_product, i0 = chunk % p->i_count * p->i_step;
    const size_t j_first = chunk / p->i_count % p->j_count * p->j_step, j_end = nacre_min(g->n, j_first + p->j_step);
    tile_block t = {
        .index = index, .i0 = i0, .i1 = nacre_min(g->m, i0 + p->i_step), .ldc = g->ldc,
        .rows = p->rows_blocks + thread * p->rows_size, .block = p->b_blocks + thread * p->b_size,
    };
    t.a = p->a_distinct == 0 ? gemm_at(&g->a, nacre_batch_offset(&g->batch, 0, index))
                      : p->a_packed + nacre_batch_number(&g->batch, 0, index) * p->a_size;
    const float *const row = g->row == NULL ? NULL : g->row + index % g->row_count * g->m;
    for (t.j0 = j_first; t.j0 < j_end; t.j0 = t.j1) {
        t.j1 = nacre_min(j_end, t.j0 + p->n_step);
        t.k0 = 0;
        const size_t corner = (index * g->m + i0) * g->ldc + t.j0;
        if (gemm_is_half(g->c_type)) {
            t.c = p->c_blocks + thread * p->c_size;
            t.ldc = p->n_step;
        } else {
            t.c = (float *)g->c + corner;
        }
        do {
            if (nacre_stopped(p->team)) return;
            t.k = nacre_min(p->k_step, g->k - t.k0);
            t.last = t.k0 + t.k == g->k;
            t.e = (nacre_f32_epilogue){.alpha = g->alpha, .add = t.c, .ld_add = t.ldc};
            if (t.k0 == 0) {
                t.e.add = g->finish.add == NULL ? NULL : g->finish.add + corner;
                t.e.ld_add = g->ldc;
            }
            if (t.last) {
                t.e.row = row;
                t.e.col = g->col;
                t.e.clamp = g->finish.clamp;
                t.e.low = g->finish.low;
                t.e.high = g->finish.high;
            }
            t.e.bare = g->alpha == 1 && t.e.add == NULL && t.e.row == NULL && t.e.col == NULL && !t.e.clamp;
            take_b(p, &t);
            if (g->b.packed && !p->b_row) find_next(p, &t, j_first, j_end);
            run_tiles(p, &t);
            t.k0 += t.k;
        } while (t.k0 < g->k);
        for (size_t i = t.i0; gemm_is_half(g->c_type) && i < t.i1; i++) {
            g->impl->half()->narrow[g->c_type](t.c + (i - i0) * t.ldc, (uint16_t *)g->c + corner + (i - i0) * g->ldc,
                                               t.j1 - t.j0);
        }
    }
}
