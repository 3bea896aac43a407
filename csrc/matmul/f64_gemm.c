// Paths of f64_gemm: blocking, batches, threads, as in f32_gemm.c.
#include <string.h>

#include "matmul/blocks.h"
#include "matmul/f64_finish.h"
#include "matmul/matmul.h"

enum {
    PANEL_A = 12 * 256,      // elements of one block of a panel of a: first-level cache
    ROWS_K = 384,            // of a sum, if a is cut into blocks of rows
    PLAIN_SPREAD = 64 << 10, // rows of a times gemm_spread of the rows of b must be less if b is read unpacked
    LINE_ROWS = 4,           // rows up to which packing b does not pay
    LINE = 1024,             // columns of a result computed at a time in lines
    GRAIN = 1 << 17,         // least multiply-adds of a piece for a thread
    PLAIN = 1 << 18,         // elements of b up to which operands are not packed
    PLAIN_ROWS = 256,        // of a, up to which packing b costs more than it saves
    SHARED_ROWS = 32,        // PLAIN_ROWS if rows of b evict each other
    SMALL_ROWS = 24,         // PLAIN_ROWS if the second-level cache is small
    SMALL = 1 << 15,         // PLAIN in that case
    SHARES = 4,              // pieces per thread, so that a slow one does not hold up the rest
    COLUMN_RANK = 8          // largest number of batch axes of a single column
};

typedef enum { TILES, GEMV_DOT, GEMV_AXPY } gemm_path;

typedef struct {
    nacre_f64_gemm g;
    const nacre_team *team;  // chunks check whether it has stopped
    gemm_path path;
    size_t products;
    size_t i_step, i_count;  // the piece of c in one chunk of work
    size_t j_step, j_count;
    // Tiles only.
    size_t rows;        // of a panel of a
    size_t m_step;      // of a block of rows of a, a multiple of rows
    size_t k_step;      // depth of one block of a sum
    size_t n_step;      // columns of a block of b
    size_t n_strip;     // of a block of b, multiplied by all rows of a block of a before the next ones
    int one_strip;      // no strip is needed again, so there is memory for one
    size_t a_distinct;  // matrices of a to pack
    size_t a_size;      // of one of them, packed
    size_t b_size;      // of a block of b; 0 if b is packed
    size_t rows_size;   // of a packed block of rows of a
    // The operands read unpacked, but for rows and columns that fill no tile: each thread has a
    // panel for those rows of a.
    int a_plain, b_plain;
    size_t a_last;      // elements of that panel, counted even if there is none, so that scratch does not fall
    double *a_packed, *b_blocks;
} gemm_plan;

static size_t align_doubles(size_t n) { return nacre_round_up(n, 8); }

// Returns the fastest path of a product. Lines need few rows, an unpacked right operand and certain
// strides.
static gemm_path best_path(const nacre_f64_gemm *g) {
    if (g->m > LINE_ROWS || g->b_packed || g->make_b != NULL) return TILES;
    if (g->b.row == 1 && (g->a.col == 1 || g->k == 1)) return GEMV_DOT;
    return g->b.col == 1 ? GEMV_AXPY : TILES;
}

static int is_column(const nacre_f64_gemm *g) {
    return g->n == 1 && g->m > 1 && g->ldc == 1 && g->row_count <= 1 && !g->b_packed && g->make_b == NULL &&
        g->batch.rank <= COLUMN_RANK;
}

// Turns a product with a single column of c into the transposed product, with a single row.
static void transpose_column(nacre_f64_gemm *g, int64_t *transposed) {
    const nacre_f64_operand a = g->a;
    g->a = (nacre_f64_operand){g->b.data, g->b.col, g->b.row};
    g->b = (nacre_f64_operand){a.data, a.col, a.row};
    g->n = g->ldc = g->m;
    g->m = 1;
    const double *const row = g->row;
    g->row = g->col;
    g->col = row;
    const size_t r = g->batch.rank;
    for (size_t d = 0; d < r; d++) {
        transposed[d] = g->batch.axes[d];
        transposed[r + d] = g->batch.axes[2 * r + d];
        transposed[2 * r + d] = g->batch.axes[r + d];
    }
    g->batch.axes = transposed;
}

// Returns the product as path computes it, as turned in f32_gemm.c.
static nacre_f64_gemm turned(const nacre_f64_gemm *given, gemm_path path, int64_t *transposed) {
    if (!is_column(given)) return *given;
    nacre_f64_gemm g = *given;
    transpose_column(&g, transposed);
    return path == TILES || best_path(&g) == path || given->m > LINE_ROWS ? g : *given;
}

// Returns the fastest path of a product, or of its transpose if it has a single column.
static gemm_path choose_path(const nacre_f64_gemm *given) {
    int64_t transposed[3 * COLUMN_RANK];
    const nacre_f64_gemm g = turned(given, TILES, transposed);
    return best_path(&g);
}

static int path_fits(const nacre_f64_gemm *g, gemm_path path) { return path == TILES || choose_path(g) == path; }

// Cuts one product into pieces. Columns are cut first, because rows share a block of b.
static void cut(gemm_plan *p, size_t threads) {
    const nacre_f64_gemm *const g = &p->g;
    const size_t mk = g->m * nacre_max(g->k, 1), work = mk / GRAIN * g->n + mk % GRAIN * g->n / GRAIN;
    size_t want = threads < 2 ? 1 : nacre_max(1, nacre_min(threads * SHARES, work * p->products));
    want = nacre_ceil_div(want, p->products);
    p->j_step = nacre_round_up(nacre_ceil_div(g->n, want), p->path == TILES ? 2 * g->impl->nr : 128);
    if (p->path != TILES) p->j_step = nacre_min(p->j_step, LINE);
    p->j_count = nacre_ceil_div(g->n, p->j_step);
    p->i_step = p->path == TILES ? nacre_round_up(nacre_ceil_div(g->m, nacre_ceil_div(want, p->j_count)), p->rows)
        : g->m;
    p->i_count = nacre_ceil_div(g->m, p->i_step);
}

// Returns the largest size of a block of b. It does not fall if an extent grows.
static size_t most_of_b(const nacre_f64_gemm *g, int one_strip) {
    const size_t nr = g->impl->nr, k = nacre_min(g->k, PANEL_A / g->impl->mr);
    return nacre_min(nacre_round_up(g->n, nr) * k,
                     one_strip ? GEMM_STRIP * nr * k : nacre_max(g->impl->block_b, nr * k));
}

// Returns the largest size of a packed block of rows. It does not fall if an extent grows.
static size_t most_of_rows(const nacre_f64_gemm *g) {
    if (g->n < GEMM_PACK_SAME * g->impl->nr) return 0;
    return nacre_min(g->impl->block_a, nacre_round_up(g->m, g->impl->mr) * g->k);
}

// Returns the rows of a up to which b is read unpacked. If the second-level cache is small, the
// limit falls with the number of sets that the rows of b are spread over, and is low if b is large.
static size_t plain_rows(const nacre_f64_gemm *g) {
    const size_t bytes = g->b.row * sizeof(double);
    const int small = g->k * g->n <= (g->impl->block_a > 0 ? SMALL : PLAIN);
    if (small && !gemm_same_sets(bytes)) return g->m;
    if (g->impl->block_a > 0) {
        return nacre_min(g->k * g->n <= PLAIN ? SMALL_ROWS : 2 * g->impl->mr, (PLAIN_SPREAD - 1) / gemm_spread(bytes));
    }
    return gemm_same_sets(bytes) ? SHARED_ROWS : PLAIN_ROWS;
}

static gemm_plan make_plan(const nacre_f64_gemm *given, gemm_path path, size_t threads, int64_t *transposed) {
    gemm_plan p = {.g = turned(given, path, transposed), .path = path, .products = nacre_batch_count(&given->batch)};
    const nacre_f64_gemm *const g = &p.g;
    if (p.products == 0 || g->m == 0 || g->n == 0) {
        p.products = 0;
        return p;
    }
    if (p.path == TILES) {
        const size_t mr = g->impl->mr, few = g->impl->few, nr = g->impl->nr;
        const int blocks = g->impl->block_a > 0;
        const size_t deepest = blocks ? nacre_min(ROWS_K, PANEL_A / mr) : PANEL_A / mr;
        p.k_step = nacre_max(1, nacre_ceil_div(g->k, nacre_max(1, nacre_ceil_div(g->k, deepest))));
        p.n_step = nacre_min(nacre_max(1, g->impl->block_b / p.k_step / nr) * nr, nacre_round_up(g->n, nr));
        const int small = g->k * g->n <= PLAIN;
        p.a_plain = small || g->a.col == 1;
        p.b_plain = g->m <= plain_rows(g) && !g->b_packed && g->make_b == NULL && g->b.col == 1;
        p.a_distinct = p.a_plain ? 0 : nacre_batch_distinct(&g->batch, 0);
        p.a_last = align_doubles(mr * g->k);
        p.rows = p.a_plain && nacre_round_up(g->m, few) < nacre_round_up(g->m, mr) ? few : mr;
        p.a_size = align_doubles(nacre_round_up(g->m, mr) * g->k);
        p.m_step = blocks ? g->impl->block_a / nacre_max(1, nacre_min(g->k, deepest)) / p.rows * p.rows : p.rows;
        p.n_strip = blocks ? nacre_min(p.n_step, GEMM_STRIP * nr) : p.n_step;
        p.one_strip = blocks && g->m <= p.m_step;
        p.rows_size = align_doubles(most_of_rows(g));
        p.b_size = g->b_packed ? 0 : align_doubles(most_of_b(g, p.one_strip));
    }
    cut(&p, threads);
    return p;
}

// Returns the elements of scratch that path_run needs.
static size_t path_scratch(const nacre_f64_gemm *g, gemm_path path, size_t threads) {
    int64_t transposed[3 * COLUMN_RANK];
    const gemm_plan p = make_plan(g, path, threads, transposed);
    return p.a_distinct * p.a_size + threads * (p.a_last + p.b_size + p.rows_size);
}

// Copies steps with contiguous lanes. If the number of lanes is a constant, the copy needs no loop.
static inline void pack_steps(size_t k, size_t lanes, const double *src, size_t step, size_t width, double *dst) {
    for (size_t p = 0; p < k; p++) memcpy(dst + p * width, src + p * step, lanes * sizeof *dst);
}

// Sets dst[p*width + l] to src[l*lane + p*step] for p < k and l < lanes <= width, and to 0 for the
// other l < width.
static void pack_panel(size_t k, size_t lanes, const double *src, size_t lane, size_t step, size_t width, double *dst) {
    enum { DEPTH = 8 };  // rows of a panel that are written while they are in the cache
    if (lane == 1 && lanes == 8) {
        pack_steps(k, 8, src, step, width, dst);
    } else if (lane == 1) {
        pack_steps(k, lanes, src, step, width, dst);
    } else {
        for (size_t p = 0; p < k; p += DEPTH) {
            const size_t end = nacre_min(k, p + DEPTH);
            for (size_t l = 0; l < lanes; l++) {
                for (size_t q = p; q < end; q++) dst[q * width + l] = src[l * lane + q * step];
            }
        }
    }
    for (size_t p = 0; p < k && lanes < width; p++) {
        for (size_t l = lanes; l < width; l++) dst[p * width + l] = 0;
    }
}

// Packs n columns of b with contiguous rows into consecutive panels. It writes a few rows to all
// panels at a time, so that it reads neighbouring lines together, and prefetches the next rows
// meanwhile.
static void pack_rows(size_t nr, size_t n, size_t k, const double *src, size_t row, double *dst) {
    enum { ROWS = 8, LINE = 64 / sizeof(double) };
    for (size_t p = 0, rows; p < k; p += rows) {
        rows = nacre_min(ROWS, k - p);
        for (size_t j = 0; j < n; j += nr) {
            const double *const from = src + p * row + j;
            const size_t lanes = nacre_min(nr, n - j);
            for (size_t q = rows; q < nacre_min(2 * rows, k - p); q++) {
                for (size_t l = 0; l < lanes; l += LINE) __builtin_prefetch(from + q * row + l);
            }
            pack_panel(rows, lanes, from, 1, row, nr, dst + j * k + p * nr);
        }
    }
}

// ---- tiles ----

// Packs the panel of a from row i on, of the matrix at offset.
static void pack_a(const gemm_plan *p, size_t offset, size_t i, double *dst) {
    const nacre_f64_gemm *const g = &p->g;
    pack_panel(g->k, nacre_min(p->rows, g->m - i), g->a.data + offset + i * g->a.row, g->a.row, g->a.col, p->rows, dst);
}

static void pack_a_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gemm_plan *const p = job;
    const nacre_f64_gemm *const g = &p->g;
    const size_t panels = nacre_ceil_div(g->m, p->rows), matrix = chunk / panels, i = chunk % panels * p->rows;
    pack_a(p, nacre_batch_distinct_offset(&g->batch, 0, matrix), i, p->a_packed + matrix * p->a_size + i * g->k);
}

static void pack_b_block(const gemm_plan *p, size_t index, size_t k0, size_t k, size_t j0, size_t n, double *dst) {
    const nacre_f64_gemm *const g = &p->g;
    if (g->make_b != NULL) {
        g->make_b(g->source, index, k0, k, j0, n, dst);
        return;
    }
    const size_t nr = g->impl->nr;
    const double *const b = g->b.data + nacre_batch_offset(&g->batch, 1, index) + k0 * g->b.row;
    enum { PANELS = 8 };  // written at a time; more would evict each other
    if (g->b.col == 1) {
        for (size_t j = 0; j < n; j += PANELS * nr) {
            pack_rows(nr, nacre_min(PANELS * nr, n - j), k, b + j0 + j, g->b.row, dst + j * k);
        }
        return;
    }
    for (size_t j = 0; j < n; j += nr) {
        pack_panel(k, nacre_min(nr, n - j), b + (j0 + j) * g->b.col, g->b.col, g->b.row, nr, dst + j * k);
    }
}

typedef struct {
    size_t index, k0, k;
    size_t i0, i1, j0, j1;  // the piece of c
    const double *a;        // of the product: unpacked, or all panels
    const double *a_last;   // the panel of rows that fill no tile, if others are read unpacked
    double *rows;           // memory for a packed block of rows
    double *block;          // memory for b
    const double *b;        // panel of column j0, row k0, unless strips are packed
    size_t b_panel, b_row;  // from one panel of b to the next, and from row to row
    const double *b_last;   // the panel of columns that fill no tile, if others are read unpacked
    int b_packs;            // strips are packed when the first block of rows reaches them
} tile_block;

// Rows i to i + m - 1 of a and columns j to j_end - 1 of b.
typedef struct {
    size_t i, m;
    const double *a;  // the rows in panels, or NULL if a_panel finds each panel
    size_t j, j_end;
    const double *b;
} tile_strip;

// Returns the epilogue of a block. It adds the sums of earlier blocks of k, which are in c.
static nacre_f64_epilogue epilogue_of(const nacre_f64_gemm *g, const tile_block *t, size_t i, size_t j) {
    const size_t at = (t->index * g->m + i) * g->ldc + j;
    nacre_f64_epilogue e = {.alpha = g->alpha, .ld_add = g->ldc};
    e.add = t->k0 > 0 ? g->c + at : g->finish.add == NULL ? NULL : g->finish.add + at;
    if (t->k0 + t->k < g->k) return e;
    if (g->row != NULL) e.row = g->row + t->index % g->row_count * g->m + i;
    if (g->col != NULL) e.col = g->col + j;
    e.clamp = g->finish.clamp;
    e.low = g->finish.low;
    e.high = g->finish.high;
    return e;
}

// Prefetches the next panel of a. Each of the tiles before it takes a share.
static void fetch_ahead(const double *next, size_t size, size_t tile, size_t tiles) {
    enum { LINE_DOUBLES = 8 };
    const size_t share = nacre_round_up(nacre_ceil_div(size, tiles), LINE_DOUBLES);
    for (size_t i = tile * share; i < nacre_min(size, (tile + 1) * share); i += LINE_DOUBLES) {
        __builtin_prefetch(next + i, 0, 2);
    }
}

// Returns the panel of a from row i on, and its strides.
static const double *a_panel(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i, size_t *row,
                             size_t *col) {
    const nacre_f64_gemm *const g = &p->g;
    const int lies = s->a == NULL && p->a_plain && g->m - i >= p->rows;
    *row = lies ? g->a.row : 1;
    *col = lies ? g->a.col : p->rows;
    if (s->a != NULL) return s->a + (i - s->i) * t->k;
    if (lies) return t->a + i * g->a.row + t->k0 * g->a.col;
    if (p->a_plain) return t->a_last + t->k0 * p->rows;
    return t->a + i * g->k + t->k0 * p->rows;
}

// Packs rows i to i + m - 1 of a if there are enough columns to pay for it.
static void take_rows(const gemm_plan *p, const tile_block *t, size_t i, size_t m, tile_strip *s) {
    const nacre_f64_gemm *const g = &p->g;
    *s = (tile_strip){.i = i, .m = m};
    if (p->m_step == p->rows || !p->a_plain ||
        !gemm_packs_rows(g->a.row * sizeof(double), (t->j1 - t->j0) / g->impl->nr)) {
        return;
    }
    const double *const a = t->a + i * g->a.row + t->k0 * g->a.col;
    for (size_t r = 0; r < m; r += p->rows) {
        pack_panel(t->k, nacre_min(p->rows, m - r), a + r * g->a.row, g->a.row, g->a.col, p->rows, t->rows + r * t->k);
    }
    s->a = t->rows;
}

// Multiplies the panel of rows from row i on by the strip.
static void run_panel(const gemm_plan *p, const tile_block *t, const tile_strip *s, size_t i) {
    const nacre_f64_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, m = nacre_min(p->rows, s->i + s->m - i), panel = (i - s->i) / p->rows,
        panels = nacre_ceil_div(s->m, p->rows);
    double *const c = g->c + (t->index * g->m + i) * g->ldc;
    size_t a_row, a_col;
    const double *const a = a_panel(p, t, s, i, &a_row, &a_col), *b = s->b;
    for (size_t j = s->j; j < s->j_end; j += nr, b += t->b_panel) {
        const size_t n = nacre_min(nr, s->j_end - j), ahead = j + p->n_strip;
        const int last = n < nr && t->b_last != NULL;
        if (i + p->rows < t->i1 && !p->a_plain) {
            fetch_ahead(a + p->rows * g->k, p->rows * t->k, (j - s->j) / nr, nacre_ceil_div(s->j_end - s->j, nr));
        }
        nacre_f64_epilogue e = epilogue_of(g, t, i, j);
        if (ahead < t->j1 && !t->b_packs && !p->b_plain) {
            e.next_bytes = t->k * nr * sizeof(double) / panels;
            e.next = (const char *)(b + (ahead - j) / nr * t->b_panel) + panel * e.next_bytes;
        }
        g->impl->tile(t->k, a, a_row, a_col, last ? t->b_last : b, last ? nr : t->b_row, c + j, g->ldc, m, n, &e);
    }
    for (size_t r = 0; t->k0 + t->k == g->k && g->finish.map != NULL && r < m; r++) {
        double *const row = c + r * g->ldc + s->j;
        g->finish.map(row, row, s->j_end - s->j, g->finish.params);
    }
}

static void run_tiles(const gemm_plan *p, tile_block *t) {
    const size_t nr = p->g.impl->nr;
    const int packs = t->b_packs;
    tile_strip s;
    for (size_t i = t->i0; i < t->i1; i += p->m_step, t->b_packs = 0) {
        take_rows(p, t, i, nacre_min(p->m_step, t->i1 - i), &s);
        for (s.j = t->j0; s.j < t->j1; s.j = s.j_end) {
            s.j_end = nacre_min(t->j1, s.j + p->n_strip);
            double *const room = t->block + (p->one_strip ? 0 : (s.j - t->j0) / nr * t->b_panel);
            s.b = packs ? room : t->b + (s.j - t->j0) / nr * t->b_panel;
            if (t->b_packs) pack_b_block(p, t->index, t->k0, t->k, s.j, s.j_end - s.j, room);
            for (size_t r = i; r < i + s.m; r += p->rows) {
                if (nacre_stopped(p->team)) return;
                run_panel(p, t, &s, r);
            }
        }
    }
}

// Sets the place of the block's part of b, which may still have to be packed.
static void take_b(const gemm_plan *p, tile_block *t) {
    const nacre_f64_gemm *const g = &p->g;
    const size_t nr = g->impl->nr, n = t->j1 - t->j0, whole = n / nr * nr;
    t->b_row = nr;
    t->b_packs = 0;
    if (p->b_plain) {
        t->b = g->b.data + nacre_batch_offset(&g->batch, 1, t->index) + t->k0 * g->b.row + t->j0;
        t->b_panel = nr;
        t->b_row = g->b.row;
        t->b_last = t->block;
        if (whole < n) pack_b_block(p, t->index, t->k0, t->k, t->j0 + whole, n - whole, t->block);
    } else if (g->b_packed) {
        t->b = g->b.data + nacre_batch_offset(&g->batch, 1, t->index) + t->j0 * g->k + t->k0 * nr;
        t->b_panel = g->k * nr;
    } else {
        t->b_packs = 1;
        t->b_panel = t->k * nr;
    }
}

static void tiles_chunk(void *job, size_t chunk, size_t thread) {
    const gemm_plan *const p = job;
    const nacre_f64_gemm *const g = &p->g;
    const size_t per_product = p->i_count * p->j_count, i0 = chunk % p->i_count * p->i_step;
    const size_t first = chunk / p->i_count % p->j_count * p->j_step, end = nacre_min(g->n, first + p->j_step);
    double *const last = p->b_blocks + thread * (p->a_last + p->b_size + p->rows_size);
    tile_block t = {
        .index = chunk / per_product, .i0 = i0, .i1 = nacre_min(g->m, i0 + p->i_step),
        .a_last = last, .block = last + p->a_last, .rows = last + p->a_last + p->b_size,
    };
    const size_t whole = g->m / p->rows * p->rows, offset = nacre_batch_offset(&g->batch, 0, t.index);
    t.a = p->a_plain ? g->a.data + offset : p->a_packed + nacre_batch_number(&g->batch, 0, t.index) * p->a_size;
    if (p->a_plain && t.i1 > whole) pack_a(p, offset, whole, last);
    for (t.j0 = first; t.j0 < end; t.j0 = t.j1) {
        t.j1 = nacre_min(end, t.j0 + p->n_step);
        t.k0 = 0;
        do {
            if (nacre_stopped(p->team)) return;
            t.k = nacre_min(p->k_step, g->k - t.k0);
            take_b(p, &t);
            run_tiles(p, &t);
            t.k0 += t.k;
        } while (t.k0 < g->k);
    }
}

// ---- lines ----

static void lines_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gemm_plan *const p = job;
    const nacre_f64_gemm *const g = &p->g;
    const size_t index = chunk / p->j_count, j0 = chunk % p->j_count * p->j_step, n = nacre_min(p->j_step, g->n - j0);
    const double *const a = g->a.data + nacre_batch_offset(&g->batch, 0, index);
    const double *const b = g->b.data + nacre_batch_offset(&g->batch, 1, index) + j0 * g->b.col;
    const tile_block all = {.index = index, .k = g->k};
    const nacre_f64_epilogue e = epilogue_of(g, &all, 0, j0);
    double lines[LINE_ROWS][LINE];
    for (size_t i = 0; i < g->m; i++) memset(lines[i], 0, n * sizeof lines[i][0]);
    // A few rows of b at a time serve all rows of a, so that b is read once.
    enum { GROUP = 8 };
    for (size_t at = 0; at < (p->path == GEMV_DOT ? n : g->k); at += GROUP) {
        for (size_t i = 0; i < g->m; i++) {
            if (p->path == GEMV_DOT) {
                g->impl->dot(g->k, a + i * g->a.row, b + at * g->b.col, g->b.col, lines[i] + at,
                             nacre_min(GROUP, n - at));
            } else {
                g->impl->axpy(nacre_min(GROUP, g->k - at), a + i * g->a.row + at * g->a.col, g->a.col,
                              b + at * g->b.row, g->b.row, lines[i], n);
            }
        }
    }
    for (size_t i = 0; i < g->m; i++) {
        double *const c = g->c + (index * g->m + i) * g->ldc + j0;
        f64_finish_row(&e, i, n, lines[i], c);
        if (g->finish.map != NULL) g->finish.map(c, c, n, g->finish.params);
    }
}

static void path_run(const nacre_f64_gemm *given, gemm_path path, nacre_team *team, double *scratch) {
    int64_t transposed[3 * COLUMN_RANK];
    gemm_plan p = make_plan(given, path, nacre_team_threads(team), transposed);
    if (p.products == 0) return;
    p.team = team;
    p.a_packed = scratch;
    p.b_blocks = scratch + p.a_distinct * p.a_size;
    if (p.path != TILES) {
        nacre_parallel(team, p.products * p.j_count, lines_chunk, &p);
        return;
    }
    const int small = p.a_distinct * p.a_size < GRAIN / 16;
    nacre_parallel(small ? NULL : team, p.a_distinct * nacre_ceil_div(p.g.m, p.rows), pack_a_chunk, &p);
    nacre_parallel(team, p.products * p.i_count * p.j_count, tiles_chunk, &p);
}

static nacre_f64_gemm gemm_of(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_f32_gemm_words *const w = (const void *)words;
    nacre_f64_gemm g = {
        .impl = ((nacre_f64_gemm_fn *)kernel->fn)(), .m = (size_t)w->m, .n = (size_t)w->n, .k = (size_t)w->k,
        .a = {NULL, (size_t)w->a_row, (size_t)w->a_col}, .b = {NULL, (size_t)w->b_row, (size_t)w->b_col},
        .b_packed = w->b_packed != 0,
        .batch = {(size_t)w->rank, w->axes}, .alpha = w->alpha, .row_count = 1, .ldc = (size_t)w->ldc,
    };
    g.finish = (nacre_f64_finish){.clamp = w->clamp != 0, .low = w->low, .high = w->high, .params = w->params};
    g.finish.map = (void (*)(const void *, void *, size_t, const void *))nacre_part_fn(w->map);
    return g;
}

#define GEMM nacre_f64_gemm
#define GEMM_PATH nacre_f64_gemm_path
#define PATH(name) nacre_f64_path_##name
#define ELEMENT double
#include "matmul/gemm_paths.inc"

static size_t gemm_panel(const nacre_kernel *kernel) { return ((nacre_f64_gemm_fn *)kernel->fn)()->nr; }

// Returns the elements of a packed matrix of b: panels of nr columns, each k deep.
static size_t packed_b(const nacre_f64_gemm *g) { return align_doubles(nacre_round_up(g->n, g->impl->nr) * g->k); }

// Returns the bytes of a packed right operand, or 0 if it has one column or would be mostly
// padding.
static size_t gemm_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    enum { MOST_PADDING = 4 };
    const nacre_f64_gemm g = gemm_of(kernel, words);
    if (operand != 1 || g.n == 1 || g.k == 0) return 0;
    const size_t size = packed_b(&g);
    if (size > MOST_PADDING * g.n * g.k + MOST_PADDING * g.k) return 0;
    return nacre_batch_distinct(&g.batch, 1) * size * sizeof(double);
}

static void gemm_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    const nacre_f64_gemm g = gemm_of(kernel, words);
    const size_t nr = g.impl->nr, size = packed_b(&g), count = nacre_batch_distinct(&g.batch, 1);
    for (size_t q = 0; q < count; q++) {
        const double *const b = (const double *)src + q * g.k * g.n;
        for (size_t j = 0; j < g.n; j += nr) {
            pack_panel(g.k, nacre_min(nr, g.n - j), b + j * g.b.col, g.b.col, g.b.row, nr,
                       (double *)dst + q * size + j * g.k);
        }
    }
}

enum { GEMM_WORDS = sizeof(nacre_f32_gemm_words) / 8, GEMM_OPERANDS = 6 };

const nacre_entry nacre_f64_gemm_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .scratch = gemm_scratch,
    .packed = gemm_packed, .pack = gemm_pack, .panel = gemm_panel,
};
const nacre_entry nacre_f64_gemv_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch,
};
