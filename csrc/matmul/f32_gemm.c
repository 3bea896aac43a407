// Drivers of f32_gemm: blocking, batches, threads.
//
// Few rows by an operand that is not packed are computed from where it lies
// (lines). All else goes through tiles. They read rows of a where they lie, and other
// forms of a large product's a packed whole, beforehand. Rows of a b that few rows of a
// need are read where they lie, too; else b is packed in blocks, by whoever needs them.
// Where the second-level cache is small, it holds a block of rows of a, which strips of b
// pass by, each asked for while the one before is in use; else it holds a block of b, which
// panels of a pass by.
// The sum of one element is cut in the same blocks of k whatever the threads,
// so results do not depend on their number. Blocks of 16-bit floats are widened
// as they are packed, unless both operands are bfloat16 and there are tiles of
// pairs of these, and results in such a type are summed up in a block of
// floats and rounded once.
#include <string.h>

#include "core/simd.h"
#include "matmul/matmul.h"

enum {
    BLOCK_K = 512,           // of a sum, at full panels of a
    ROWS_K = 768,            // of a sum, at blocks of rows of a
    FEW_PANELS = 2,          // of a, at which b is read once, and in longer pieces
    PANEL_A = 12 * BLOCK_K,  // elements of one block of a panel of a: first-level cache
    STRIP = 4,               // panels of b that each panel of a block of rows is multiplied by in turn
    PACK_PANELS = 48,        // panels of b from which on packing a block of rows pays
    PACK_SAME = 32,          // the same where rows evict each other
    FEW_ROWS = 512,          // of a, that are read again for smaller blocks of b at no cost
    FEW_B = 128 * BLOCK_K,   // elements of such a block at most
    GEMV_ROWS = 4,          // rows that are worth more than packing b
    ROW_COLUMNS = 1024,      // of a block of packed b that one row is multiplied by
    HALF_K = 256,            // of a sum, where a panel of 16-bit floats is used once
    HALF_ROWS = 128,         // of a result of 16-bit floats that are summed up at a time
    HALF_COLUMNS = 1024,     // of such a result
    PITCH = 16,              // floats between rows that are widened, so that they are in other sets of a cache
    LINE = 2048,             // columns of a result that are computed at a time in lines
    GRAIN = 1 << 18,         // multiply-adds that are worth a thread's attention
    READING_ROWS = 8,        // rows that are multiplied while b is read: fewer take as long
    SMALL_B = 1 << 18,       // elements of b for which rows of a are read where they lie, whatever their strides
    PLAIN_SPREAD = (32 << 10) - 1, // rows of a, times bytes between sets that rows of b lie in
    SAME_SETS = 4096,        // bytes between addresses that share a set of the first-level cache
    MOST_ROWS = 14,          // of a tile of any variant
    COPY_ROWS = 4,           // rows that have room in a set
    COPY_PANELS = 4,         // panels of b from which on copying rows of a that do pays
    FETCH_PANELS = 2,        // row panels from which on a block of b lasts until the next one is here
    SHARES = 4               // pieces per thread, so that a slow one does not hold up the rest
};


typedef enum { TILES, GEMV_DOT, GEMV_AXPY } gemm_path;

typedef struct {
    nacre_f32_gemm g;
    const nacre_team *team;  // whose end is looked for within a chunk
    gemm_path path;
    size_t products;
    size_t i_step, i_count;  // the piece of c that is one chunk of work
    size_t j_step, j_count;
    // Tiles only.
    size_t rows;       // of a panel of a
    size_t m_step;     // rows of a block of a: panels
    size_t k_step;     // of a sum at a time
    size_t n_step;     // columns of a block of b
    size_t n_strip;    // columns of it that all rows of a block of a are multiplied by before the next ones
    int one_strip;     // no strip is needed again, so the room is for one
    size_t a_distinct; // matrices of a to pack
    size_t a_size;     // of one of them, packed
    size_t b_size;     // of a block of b
    size_t rows_size;  // of a copy of a block of rows of a
    int pairs;            // both operands are bfloat16 and stay so
    int a_plain, b_plain; // read where they lie; of b of floats only whole panels
    int a_wide;           // rows of 16-bit floats are widened as they lie
    size_t a_row, a_col;  // from one row of a to the next, and from one step of a sum
    int b_row;            // the one row is multiplied by packed panels of 16-bit floats as they are
    size_t c_size;     // of a block of c that is to be rounded
    float *a_packed, *b_blocks, *c_blocks, *rows_blocks;
} gemm_plan;

static const void *at(const nacre_f32_operand *x, size_t offset) {
    return (const char *)x->data + offset * nacre_float_size(x->type);
}

static int is_half(nacre_float_type type) { return type != NACRE_FLOAT32; }

static int by_pairs(const nacre_f32_gemm *g) {
    return g->impl->pairs != NULL && g->a.type == NACRE_BFLOAT16 && g->b.type == NACRE_BFLOAT16 && !g->a.packed && g->a.col == 1 && g->make_b == NULL;
}

static gemm_path choose_path(const nacre_f32_gemm *g) {
    if (g->m > GEMV_ROWS || g->a.packed || g->b.packed || g->make_b != NULL) return TILES;
    if (is_half(g->a.type) || is_half(g->b.type) || is_half(g->c_type)) return TILES;
    if (g->b.row == 1 && (g->a.col == 1 || g->k == 1)) return GEMV_DOT;
    return g->b.col == 1 ? GEMV_AXPY : TILES;
}

// A single column is a single row of the transposed product.
static void transpose_column(nacre_f32_gemm *g, size_t *transposed) {
    nacre_f32_operand b = g->a;
    b.row = g->a.col;
    b.col = g->a.row;
    g->a = (nacre_f32_operand){g->b.data, 0, g->b.type, g->b.col, g->b.row};
    g->b = b;
    g->n = g->m;
    g->m = 1;
    g->ldc = g->n;
    const float *const row = g->row;
    g->row = g->col;
    g->row_count = 1;
    g->col = row;
    const size_t r = g->batch.rank;
    for (size_t d = 0; d < r; d++) {
        transposed[d] = g->batch.axes[d];
        transposed[r + d] = g->batch.axes[2 * r + d];
        transposed[2 * r + d] = g->batch.axes[r + d];
    }
    g->batch.axes = transposed;
}

enum { COLUMN_RANK = 8 };

static int is_column(const nacre_f32_gemm *g) {
    return g->n == 1 && g->m > 1 && g->ldc == 1 && g->row_count <= 1 && !g->a.packed && !g->b.packed && g->make_b == NULL &&
           g->batch.rank <= COLUMN_RANK;
}

// Cuts one product into pieces: of columns first, for rows share a block of b; of rows alone where b is packed
// and the smaller operand, for pieces of rows all read b and those of columns all read a.
static void cut(gemm_plan *p, size_t threads) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t mk = nacre_max(g->m, READING_ROWS) * nacre_max(g->k, 1), work = mk / GRAIN * g->n + mk % GRAIN * g->n / GRAIN;
    size_t want = threads < 2 ? 1 : nacre_max(1, nacre_min(threads * SHARES, work * p->products));
    want = nacre_ceil_div(want, p->products);
    const size_t unit = p->path == TILES ? g->b.packed ? g->impl->nr : 4 * g->impl->nr : 256;
    const int rows = p->path == TILES && g->b.packed && g->m >= g->n;
    p->j_step = nacre_round_up(rows ? g->n : nacre_ceil_div(g->n, want), unit);
    if (p->path != TILES) p->j_step = nacre_min(p->j_step, LINE);
    p->j_count = nacre_ceil_div(g->n, p->j_step);
    p->i_step = g->m;
    if (p->path == TILES) p->i_step = nacre_round_up(nacre_ceil_div(g->m, nacre_ceil_div(want, p->j_count)), p->rows);
    if (is_half(g->c_type)) p->i_step = nacre_min(p->i_step, nacre_round_up(HALF_ROWS, p->rows));
    p->i_count = nacre_ceil_div(g->m, p->i_step);
}

// What a block of b has at most; it does not fall when an extent grows.
static size_t most_of_b(const nacre_f32_gemm *g, int one_strip) {
    const size_t nr = g->impl->nr, k = nacre_min(g->k, PANEL_A);
    return nacre_min(nacre_round_up(g->n, nr) * k, one_strip ? STRIP * nr * k : nacre_max(g->impl->block_b, nr * k));
}

// What the copy of a block of rows has at most; it does not fall when an extent grows.
static size_t most_of_rows(const nacre_f32_gemm *g) {
    if (g->impl->block_a == 0) return PANEL_A + MOST_ROWS * PITCH;
    return g->n < PACK_SAME * g->impl->nr ? 0 : nacre_min(g->impl->block_a, nacre_round_up(g->m, g->impl->mr) * g->k);
}

// Rows of a up to which b is read where it lies. Where the second-level cache is small, they are fewer the
// fewer sets the rows of b are spread over, and few if b is large.
static size_t plain_rows(const nacre_f32_gemm *g) {
    const size_t bytes = g->b.row * nacre_float_size(g->b.type), apart = nacre_max(1, bytes & (0 - bytes));
    if (g->impl->block_a == 0) return g->impl->plain_rows;
    return nacre_min(g->k * g->n <= SMALL_B ? g->impl->plain_rows : FEW_PANELS * g->impl->mr, PLAIN_SPREAD / apart);
}

static gemm_plan make_plan(const nacre_f32_gemm *given, size_t threads, size_t *transposed) {
    gemm_plan p = {.g = *given, .products = nacre_batch_count(&given->batch)};
    if (is_column(given)) transpose_column(&p.g, transposed);
    const nacre_f32_gemm *const g = &p.g;
    p.path = choose_path(g);
    if (p.products == 0 || g->m == 0 || g->n == 0) {
        p.products = 0;
        return p;
    }
    if (p.path == TILES) {
        p.rows = nacre_f32_gemm_panel_rows(g->impl, g->m);
        const int blocks = g->impl->block_a > 0;
        const size_t deepest = blocks && g->m > FEW_PANELS * g->impl->mr ? ROWS_K : nacre_max(BLOCK_K, PANEL_A / p.rows);
        p.k_step = nacre_max(1, nacre_ceil_div(g->k, nacre_max(1, nacre_ceil_div(g->k, deepest))));
        p.m_step = blocks ? g->impl->block_a / nacre_max(1, nacre_min(g->k, deepest)) / p.rows * p.rows : p.rows;
        p.pairs = by_pairs(g);
        const int narrow = g->b.packed && is_half(g->b.type) && !p.pairs, once = narrow && p.rows >= g->m;
        p.b_row = narrow && g->m == 1;
        if (once && g->m > 1) p.k_step = nacre_min(p.k_step, HALF_K);
        if (p.pairs) p.k_step = nacre_round_up(p.k_step, 2);
        const size_t block = !blocks && g->m < FEW_ROWS ? nacre_min(FEW_B, g->impl->block_b) : g->impl->block_b;
        p.n_step = g->m == 1 && g->b.packed ? ROW_COLUMNS / g->impl->nr * g->impl->nr : once ? g->impl->nr : nacre_max(1, block / p.k_step / g->impl->nr) * g->impl->nr;
        p.n_step = nacre_min(nacre_min(p.n_step, is_half(g->c_type) ? HALF_COLUMNS : p.n_step), nacre_round_up(g->n, g->impl->nr));
        p.n_strip = blocks ? nacre_min(p.n_step, STRIP * g->impl->nr) : p.n_step;
        p.one_strip = blocks && g->m <= p.m_step;
        p.rows_size = nacre_align_floats(most_of_rows(g));
        const int small = g->k * g->n <= SMALL_B;
        p.a_plain = p.pairs || ((small || g->a.col == 1) && !g->a.packed && !is_half(g->a.type));
        const size_t pitch = !p.a_plain && is_half(g->a.type) && !g->a.packed && g->a.col == 1 ? nacre_round_up(g->k, PITCH) + PITCH : 0;
        p.a_wide = pitch > 0;
        p.a_row = p.a_plain ? g->a.row : p.a_wide ? pitch : 1;
        p.a_col = p.a_plain ? g->a.col : p.a_wide ? 1 : p.rows;
        p.a_size = p.a_wide ? g->m * pitch : nacre_f32_gemm_packed_a(g->impl, g->m, g->k);
        p.b_plain = g->m <= plain_rows(g) && !g->b.packed && g->make_b == NULL && (p.pairs || !is_half(g->b.type)) && g->b.col == 1;
        p.a_distinct = p.a_plain || (g->a.packed && !is_half(g->a.type)) ? 0 : nacre_batch_distinct(&g->batch, 0);
        p.b_size = p.b_row || (g->b.packed && !narrow) ? 0 : nacre_align_floats(most_of_b(g, p.one_strip));
    }
    cut(&p, threads);
    if (is_half(g->c_type)) p.c_size = nacre_align_floats(nacre_min(nacre_round_up(HALF_ROWS, g->impl->mr) + g->impl->mr, g->m) * nacre_min(HALF_COLUMNS, nacre_round_up(g->n, g->impl->nr)));
    return p;
}

// Whether the product goes another way than those below.
static int by_parts(const nacre_f32_gemm *g) { return g->impl->parts != NULL && g->impl->parts->fits(g); }

size_t nacre_f32_gemm_scratch(const nacre_f32_gemm *g, size_t threads) {
    size_t transposed[3 * COLUMN_RANK];
    const gemm_plan p = make_plan(g, threads, transposed);
    const size_t n = p.a_distinct * p.a_size + threads * (p.b_size + p.c_size + p.rows_size);
    return g->impl->parts == NULL ? n : nacre_max(n, g->impl->parts->scratch(g, threads));
}

// ---- tiles ----

static void pack_a_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gemm_plan *const p = job;
    const nacre_f32_gemm *const g = &p->g;
    const size_t panels = nacre_ceil_div(g->m, p->rows);
    const size_t matrix = chunk / panels, i = chunk % panels * p->rows;
    const size_t offset = nacre_batch_distinct_offset(&g->batch, 0, matrix);
    for (size_t r = i; p->a_wide && r < nacre_min(g->m, i + p->rows); r++) {
        g->impl->half()->widen[g->a.type](at(&g->a, offset + r * g->a.row), p->a_packed + matrix * p->a_size + r * p->a_row, g->k);
    }
    if (p->a_wide) return;
    if (g->a.packed) {
        g->impl->half()->widen[g->a.type](at(&g->a, offset + i * g->k),
                                          p->a_packed + matrix * p->a_size + i * g->k, p->rows * g->k);
        return;
    }
    nacre_f32_pack_panel(g->impl->half(), g->k, nacre_min(p->rows, g->m - i), at(&g->a, offset + i * g->a.row), g->a.type, g->a.row, g->a.col,
                         p->rows, p->a_packed + matrix * p->a_size + i * g->k);
}

static void pack_b_block(const gemm_plan *p, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    const nacre_f32_gemm *const g = &p->g;
    if (g->make_b != NULL) {
        g->make_b(g->source, index, k0, k, j0, n, dst);
        return;
    }
    const size_t nr = g->impl->nr, offset = nacre_batch_offset(&g->batch, 1, index);
    if (p->pairs || (!g->b.packed && g->b.type == NACRE_FLOAT32)) {
        const nacre_f32_operand b = {at(&g->b, offset + k0 * g->b.row + j0 * g->b.col), 0, g->b.type, g->b.row, g->b.col};
        nacre_f32_gemm_pack_b(g->impl, n, k, &b, dst);
        return;
    }
    for (size_t j = 0; j < n; j += nr) {
        if (g->b.packed) {
            g->impl->half()->widen[g->b.type](at(&g->b, offset + (j0 + j) * g->k + k0 * nr), dst + j * k, k * nr);
            continue;
        }
        nacre_f32_pack_panel(g->impl->half(), k, nacre_min(nr, n - j), at(&g->b, offset + k0 * g->b.row + (j0 + j) * g->b.col), g->b.type,
                             g->b.col, g->b.row, nr, dst + j * k);
    }
}

typedef struct {
    size_t index;           // of the product
    size_t k0, k;
    int last;               // the sums end with this block
    size_t i0, i1, j0, j1;  // the piece of c
    const void *a;          // the product's: all panels, or as it lies
    float *rows;            // room for a copy of rows of a
    float *block;           // room for b
    const void *b;          // panel of column j0, row k0, or of the strip in use
    size_t b_panel, b_row;  // from one panel of b to the next, and from row to row
    const float *b_last;    // the panel that is not whole, where others are read as they lie
    int b_packs;            // strips are packed as the first block of rows meets them
    float *c;               // row i0, column j0
    size_t ldc;
    nacre_f32_epilogue e;   // for row 0 and column 0 of c
    // What follows b, to be fetched while this block is in use: panels of so many bytes each.
    const char *next;
    size_t next_panels, next_bytes, next_step;
    int next_once;          // even by a single panel of a
} tile_block;

// Rows i to i + m - 1 of a from step k0 of the sums on, in panels, and columns j to j_end - 1 of b.
typedef struct {
    size_t i, m;
    const float *a;
    size_t row, col, panel;  // from one row of a to the next, from one step to the next, and from one panel to the next
    size_t j, j_end;
    const char *b;
} tile_strip;

// The epilogue of the tile at row i and column j.
static nacre_f32_epilogue tile_epilogue(const tile_block *t, size_t i, size_t j) {
    nacre_f32_epilogue e = t->e;
    if (e.add != NULL) e.add += (i - t->i0) * e.ld_add + (j - t->j0);
    if (e.row != NULL) e.row += i;
    if (e.col != NULL) e.col += j;
    return e;
}

// Bytes from one panel of b to the next.
static size_t panel_bytes(const gemm_plan *p, const tile_block *t) {
    return t->b_panel * nacre_float_size(p->b_row || p->pairs ? p->g.b.type : NACRE_FLOAT32);
}

// Row i by a strip, of which a holds the numbers.
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
            p->g.impl->row(p->b_row ? p->g.b.type : NACRE_FLOAT32, count, t->k, a, lda, b, c, n, e);
        }
    }
}

// What the tile of panel q of a strip fetches, at row panel i of n: its part of the same panel of the
// next strip, where that is packed, or of the next block.
static void fetch_next(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i, size_t n, size_t q, nacre_f32_epilogue *e) {
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

// Finds rows i to i + m - 1 of a, or copies them: into panels where there are columns enough for it to pay, and
// where there is no block of them, if they lie so many bytes apart that they evict each other. Pairs of 16-bit
// floats stay where they are.
static void take_rows(const gemm_plan *p, const tile_block *t, size_t i, size_t m, tile_strip *s) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t columns = t->j1 - t->j0;
    *s = (tile_strip){.i = i, .m = m};
    if (p->pairs) return;
    s->a = (const float *)t->a + i * (p->a_plain || p->a_wide ? p->a_row : g->k) + t->k0 * p->a_col;
    s->row = p->a_row;
    s->col = p->a_col;
    s->panel = p->rows * (p->a_plain || p->a_wide ? p->a_row : g->k);
    const int same = s->row * sizeof(float) % SAME_SETS == 0;
    if (!p->a_plain || s->col != 1) return;
    if (p->m_step > p->rows) {
        if (columns < (same ? PACK_SAME : PACK_PANELS) * g->impl->nr) return;
        for (size_t r = 0; r < m; r += p->rows) {
            nacre_f32_pack_panel(g->impl->half(), t->k, nacre_min(p->rows, m - r), s->a + r * s->row, NACRE_FLOAT32, s->row, 1, p->rows, t->rows + r * t->k);
        }
        s->row = 1;
        s->col = p->rows;
        s->panel = p->rows * t->k;
    } else {
        const size_t pitch = t->k + PITCH;
        if (!same || m <= COPY_ROWS || columns < COPY_PANELS * g->impl->nr || m * pitch > p->rows_size) return;
        for (size_t r = 0; r < m; r++) memcpy(t->rows + r * pitch, s->a + r * s->row, t->k * sizeof(float));
        s->row = pitch;
    }
    s->a = t->rows;
}

// The panel of rows from row i on by the strip.
static void run_panel(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, m = nacre_min(p->rows, s->i + s->m - i), step = panel_bytes(p, t);
    // Rows that a strip passes by before the next one is in use.
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
            g->impl->strided(t->k, a, s->row, s->col, last ? t->b_last : (const void *)b, last ? nr : t->b_row, c, t->ldc, m, n, &e);
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
            for (size_t i = s.i; i < s.i + s.m; i += p->rows) {
                if (nacre_stopped(p->team)) return;
                run_panel(p, t, &s, i);
            }
        }
    }
}

// Sets where the block's part of b is, or will be.
static void take_b(const gemm_plan *p, tile_block *t) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, n = t->j1 - t->j0, whole = n / nr * nr;
    t->b_row = nr;
    t->b_packs = 0;
    if (p->b_plain) {
        t->b = at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + t->k0 * g->b.row + t->j0);
        t->b_panel = nr;
        t->b_row = g->b.row;
        if (p->pairs) return;
        t->b_last = t->block;
        if (whole < n) pack_b_block(p, t->index, t->k0, t->k, t->j0 + whole, n - whole, t->block);
    } else if (p->b_size == 0) {
        t->b = at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + t->j0 * g->k + t->k0 * nr);
        t->b_panel = g->k * nr;
    } else {
        t->b_packs = 1;
        t->b = t->block;
        t->b_panel = t->k * nr;
    }
}

// Finds the block of a packed b after this one, in the piece of columns j_first to j_end - 1
// or in the one that this thread may take after it.
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
    t->next_once = is_half(g->b.type);
    t->next = at(&g->b, nacre_batch_offset(&g->batch, 1, t->index) + j0 * g->k + k0 * nr);
}

static void tiles_chunk(void *job, size_t chunk, size_t thread) {
    const gemm_plan *const p = job;
    const nacre_f32_gemm *const g = &p->g;
    const size_t per_product = p->i_count * p->j_count;
    const size_t index = chunk / per_product, i0 = chunk % p->i_count * p->i_step;
    const size_t j_first = chunk / p->i_count % p->j_count * p->j_step, j_end = nacre_min(g->n, j_first + p->j_step);
    tile_block t = {
        .index = index, .i0 = i0, .i1 = nacre_min(g->m, i0 + p->i_step), .ldc = g->ldc,
        .rows = p->rows_blocks + thread * p->rows_size, .block = p->b_blocks + thread * p->b_size,
    };
    t.a = p->a_distinct == 0 ? at(&g->a, nacre_batch_offset(&g->batch, 0, index))
                      : p->a_packed + nacre_batch_number(&g->batch, 0, index) * p->a_size;
    const float *const row = g->row == NULL ? NULL : g->row + index % g->row_count * g->m;
    for (t.j0 = j_first; t.j0 < j_end; t.j0 = t.j1) {
        t.j1 = nacre_min(j_end, t.j0 + p->n_step);
        t.k0 = 0;
        const size_t corner = (index * g->m + i0) * g->ldc + t.j0;
        if (is_half(g->c_type)) {
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
        for (size_t i = t.i0; is_half(g->c_type) && i < t.i1; i++) {
            g->impl->half()->narrow[g->c_type](t.c + (i - i0) * t.ldc, (uint16_t *)g->c + corner + (i - i0) * g->ldc, t.j1 - t.j0);
        }
    }
}

// ---- lines ----

// Row i of columns j0..j0+n-1 of c from the sums in line.
static void finish_line(const nacre_f32_gemm *g, size_t index, size_t i, size_t j0, size_t n, const float *line) {
    const nacre_f32_finish *const f = &g->finish;
    const size_t corner = (index * g->m + i) * g->ldc + j0;
    float *const c = (float *)g->c + corner;
    const float row = g->row == NULL ? 0 : g->row[index % g->row_count * g->m + i];
    NACRE_SIMD for (size_t j = 0; j < n; j++) {
        float v = line[j] * g->alpha;
        if (f->add != NULL) v += f->add[corner + j];
        if (g->row != NULL) v += row;
        if (g->col != NULL) v += g->col[j0 + j];
        if (f->clamp) {
            if (v < f->low) v = f->low;
            if (v > f->high) v = f->high;
        }
        c[j] = v;
    }
    if (f->map != NULL) f->map(c, c, n, f->params);
}

static void lines_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gemm_plan *const p = job;
    const nacre_f32_gemm *const g = &p->g;
    const size_t index = chunk / p->j_count, j0 = chunk % p->j_count * p->j_step, n = nacre_min(p->j_step, g->n - j0);
    const float *const a = at(&g->a, nacre_batch_offset(&g->batch, 0, index));
    const float *const b = (const float *)at(&g->b, nacre_batch_offset(&g->batch, 1, index)) + j0 * g->b.col;
    float lines[GEMV_ROWS][LINE];
    if (p->path == GEMV_DOT) {
        // Rows of a take turns on a few rows of b, which so are read once.
        enum { GROUP = 4 };
        for (size_t j = 0; j < n; j += GROUP) {
            for (size_t i = 0; i < g->m; i++) {
                g->impl->dot(g->k, a + i * g->a.row, b + j * g->b.col, g->b.col, lines[i] + j, nacre_min(GROUP, n - j));
            }
        }
    } else {
        enum { GROUP = 8 };
        for (size_t i = 0; i < g->m; i++) memset(lines[i], 0, n * sizeof lines[i][0]);
        for (size_t k = 0; k < g->k; k += GROUP) {
            for (size_t i = 0; i < g->m; i++) {
                g->impl->axpy(nacre_min(GROUP, g->k - k), a + i * g->a.row + k * g->a.col, g->a.col, b + k * g->b.row, g->b.row,
                              lines[i], n);
            }
        }
    }
    for (size_t i = 0; i < g->m; i++) finish_line(g, index, i, j0, n, lines[i]);
}

void nacre_f32_gemm_run(const nacre_f32_gemm *given, nacre_team *team, float *scratch) {
    if (by_parts(given)) {
        given->impl->parts->run(given, team, scratch);
        return;
    }
    size_t transposed[3 * COLUMN_RANK];
    gemm_plan p = make_plan(given, nacre_team_threads(team), transposed);
    if (p.products == 0) return;
    p.team = team;
    p.a_packed = scratch;
    p.b_blocks = scratch + p.a_distinct * p.a_size;
    p.c_blocks = p.b_blocks + nacre_team_threads(team) * p.b_size;
    p.rows_blocks = p.c_blocks + nacre_team_threads(team) * p.c_size;
    if (p.path != TILES) {
        nacre_parallel(team, p.products * p.j_count, lines_chunk, &p);
        return;
    }
    const size_t a_chunks = p.a_distinct * nacre_ceil_div(p.g.m, p.rows);
    const int small = p.a_distinct * p.a_size < GRAIN / 16;
    nacre_parallel(small ? NULL : team, a_chunks, pack_a_chunk, &p);
    nacre_parallel(team, p.products * p.i_count * p.j_count, tiles_chunk, &p);
}

const nacre_f32_gemm_driver nacre_f32_gemm_drivers = {
    nacre_f32_gemm_scratch, nacre_f32_gemm_run,    nacre_f32_gemm_packed_a,   nacre_f32_gemm_packed_b,
    nacre_f32_gemm_pack_a,  nacre_f32_gemm_pack_b, nacre_f32_gemm_panel_rows, nacre_f32_pack_panel,
};

// ---- commands ----

static nacre_f32_gemm gemm_of(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_f32_gemm_words *const w = (const void *)words;
    nacre_f32_gemm g = {
        .impl = ((nacre_f32_gemm_fn *)kernel->fn)(), .m = (size_t)w->m, .n = (size_t)w->n, .k = (size_t)w->k,
        .a = {NULL, w->a_packed != 0, (nacre_float_type)w->a_type, (size_t)w->a_row, (size_t)w->a_col},
        .b = {NULL, w->b_packed != 0, (nacre_float_type)w->b_type, (size_t)w->b_row, (size_t)w->b_col},
        .batch = {(size_t)w->rank, (const size_t *)w->axes},
        .alpha = (float)w->alpha, .row_count = 1, .c_type = (nacre_float_type)w->c_type, .ldc = (size_t)w->ldc,
    };
    g.finish.clamp = w->clamp != 0;
    g.finish.low = (float)w->low;
    g.finish.high = (float)w->high;
    g.finish.map = (void (*)(const void *, void *, size_t, const void *))nacre_part_fn(w->map);
    g.finish.params = w->params;
    return g;
}

static void gemm_command(const nacre_call *c) {
    nacre_f32_gemm g = gemm_of(c->kernel, c->words);
    g.a.data = nacre_operand(c, 0);
    g.b.data = nacre_operand(c, 1);
    g.row = nacre_operand(c, 2);
    g.col = nacre_operand(c, 3);
    g.finish.add = nacre_operand(c, 4);
    g.c = nacre_operand(c, 5);
    nacre_f32_gemm_run(&g, c->team, c->scratch);
}

static size_t gemm_command_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const nacre_f32_gemm g = gemm_of(kernel, words);
    return nacre_f32_gemm_scratch(&g, threads) * sizeof(float);
}

// Whether the product goes that way.
static int gemm_goes(const nacre_kernel *kernel, const int64_t *words, gemm_path path) {
    const nacre_f32_gemm g = gemm_of(kernel, words);
    size_t transposed[3 * COLUMN_RANK];
    return make_plan(&g, 1, transposed).path == path;
}

static int gemv_dot_fits(const nacre_kernel *kernel, const int64_t *words) { return gemm_goes(kernel, words, GEMV_DOT); }
static int gemv_axpy_fits(const nacre_kernel *kernel, const int64_t *words) { return gemm_goes(kernel, words, GEMV_AXPY); }

// How many matrices of a constant operand there are, one behind the other.
static size_t gemm_matrices(const nacre_f32_gemm *g, int operand) { return nacre_batch_distinct(&g->batch, operand); }

// A right operand is packed unless the padding would be most of it.
static size_t gemm_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    enum { MOST_PADDING = 4 };
    const nacre_f32_gemm g = gemm_of(kernel, words);
    const size_t bytes = nacre_float_size(g.b.type);
    if (operand != 1 || g.n == 1 || g.k == 0) return 0;
    const size_t size = nacre_f32_gemm_packed_b(g.impl, g.n, g.k);
    if (size > MOST_PADDING * g.n * g.k + MOST_PADDING * g.k) return 0;
    return gemm_matrices(&g, 1) * size * bytes;
}

static void gemm_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    nacre_f32_gemm g = gemm_of(kernel, words);
    const size_t bytes = nacre_float_size(g.b.type), size = nacre_f32_gemm_packed_b(g.impl, g.n, g.k);
    for (size_t q = 0; q < gemm_matrices(&g, 1); q++) {
        g.b.data = (const char *)src + q * g.k * g.n * bytes;
        nacre_f32_gemm_pack_b(g.impl, g.n, g.k, &g.b, (char *)dst + q * size * bytes);
    }
}

enum { GEMM_WORDS = sizeof(nacre_f32_gemm_words) / 8, GEMM_OPERANDS = 6 };

const nacre_entry nacre_f32_gemm_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .scratch = gemm_command_scratch,
    .packed = gemm_packed, .pack = gemm_pack,
};
const nacre_entry nacre_f32_gemv_dot_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .fits = gemv_dot_fits, .scratch = gemm_command_scratch,
};
const nacre_entry nacre_f32_gemv_axpy_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .fits = gemv_axpy_fits, .scratch = gemm_command_scratch,
};
