// Paths of f32_gemm: blocking, batches, threads. f32_gemm_tiles.c runs the tiles.
//
// A product of few rows by an unpacked operand is computed in lines, without copies. All else goes
// through tiles. If rows of a are contiguous, tiles read them unpacked; otherwise all of a large
// product's a is packed beforehand. If few rows of a need the rows of b, tiles read these unpacked,
// too; otherwise the thread that needs a block of b packs it. On some levels the second-level cache
// holds a block of rows of a while strips of b pass, each prefetched while the one before is in
// use. On others it holds a block of b while panels of a pass.
//
// The sum of one element is cut into the same blocks of k for any number of threads, so results do
// not depend on it. Blocks of 16-bit floats are widened as they are packed, unless both operands
// are bfloat16 and the level has tiles of pairs. Results of a 16-bit type are summed in a block of
// floats and rounded once.
#include <string.h>

#include "core/simd.h"
#include "matmul/blocks.h"
#include "matmul/f32_gemm_plan.h"

enum {
    BLOCK_K = 512,           // of a sum, if a is cut into panels
    ROWS_K = 768,            // of a sum, if a is cut into blocks of rows
    FEW_PANELS = 2,          // of a, up to which b is read once, and in longer pieces
    PANEL_A = 12 * BLOCK_K,  // elements of one block of a panel of a: first-level cache
    FEW_ROWS = 512,          // of a, which may be read again at no cost, so that blocks of b are smaller
    FEW_B = 128 * BLOCK_K,   // elements of such a block of b at most
    GEMV_ROWS = 4,          // rows up to which packing b does not pay
    ROW_COLUMNS = 1024,      // of a block of packed b, for one row
    HALF_K = 256,            // of a sum, if a panel of 16-bit floats is used once
    HALF_ROWS = 128,         // of a 16-bit result, summed at a time
    HALF_COLUMNS = 1024,     // of such a result
    LINE = 2048,             // columns of a result computed at a time in lines
    GRAIN = 1 << 18,         // least multiply-adds of a piece for a thread
    READING_ROWS = 8,        // rows that are multiplied in the time that reading b takes
    SMALL_B = 1 << 18,       // elements of b up to which rows of a are read unpacked, whatever their strides
    MOST_ROWS = 14,          // of a tile of any variant
    SHARES = 4               // pieces per thread, so that a slow one does not hold up the rest
};

static int by_pairs(const nacre_f32_gemm *g) {
    return g->impl->pairs != NULL && g->a.type == NACRE_DTYPE_bf16 && g->b.type == NACRE_DTYPE_bf16 && !g->a.packed &&
        g->a.col == 1 && g->make_b == NULL;
}

// Returns the fastest path of a product. Pairs need bfloat16 and a level with tiles of them, lines
// few rows, unpacked floats and certain strides.
static gemm_path best_path(const nacre_f32_gemm *g) {
    if (by_pairs(g)) return PAIRS;
    if (g->m > GEMV_ROWS || g->a.packed || g->b.packed || g->make_b != NULL) return TILES;
    if (gemm_is_half(g->a.type) || gemm_is_half(g->b.type) || gemm_is_half(g->c_type)) return TILES;
    if (g->b.row == 1 && (g->a.col == 1 || g->k == 1)) return GEMV_DOT;
    return g->b.col == 1 ? GEMV_AXPY : TILES;
}

// Turns a product with a single column of c into the transposed product, with a single row.
static void transpose_column(nacre_f32_gemm *g, int64_t *transposed) {
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
    return g->n == 1 && g->m > 1 && g->ldc == 1 && g->row_count <= 1 && !g->a.packed && !g->b.packed &&
        g->make_b == NULL &&
           g->batch.rank <= COLUMN_RANK;
}

// Returns the product as path computes it: a product with a single column transposed, unless the
// transposed product does not fit the path and the product does: lines have room for few rows. Its
// batch is in transposed.
static nacre_f32_gemm turned(const nacre_f32_gemm *given, gemm_path path, int64_t *transposed) {
    if (!is_column(given)) return *given;
    nacre_f32_gemm g = *given;
    transpose_column(&g, transposed);
    return path == TILES || best_path(&g) == path || (path != PAIRS && given->m > GEMV_ROWS) ? g : *given;
}

// Returns the fastest path of a product, or of its transpose if it has a single column.
static gemm_path choose_path(const nacre_f32_gemm *given) {
    int64_t transposed[3 * COLUMN_RANK];
    const nacre_f32_gemm g = turned(given, TILES, transposed);
    return best_path(&g);
}

static int path_fits(const nacre_f32_gemm *g, gemm_path path) { return path == TILES || choose_path(g) == path; }

// Cuts one product into pieces. Columns are cut first, because rows share a block of b. Only rows
// are cut if b is packed and the smaller operand: pieces of rows all read b, pieces of columns all
// read a.
static void cut(gemm_plan *p, size_t threads) {
    const nacre_f32_gemm *const g = &p->g;
    const size_t mk = nacre_max(g->m, READING_ROWS) * nacre_max(g->k, 1),
        work = mk / GRAIN * g->n + mk % GRAIN * g->n / GRAIN;
    size_t want = threads < 2 ? 1 : nacre_max(1, nacre_min(threads * SHARES, work * p->products));
    want = nacre_ceil_div(want, p->products);
    const size_t unit = !p->lines ? g->b.packed ? g->impl->nr : 4 * g->impl->nr : 256;
    const int rows = !p->lines && g->b.packed && g->m >= g->n;
    p->j_step = nacre_round_up(rows ? g->n : nacre_ceil_div(g->n, want), unit);
    if (p->lines) p->j_step = nacre_min(p->j_step, LINE);
    p->j_count = nacre_ceil_div(g->n, p->j_step);
    p->i_step = g->m;
    if (!p->lines) p->i_step = nacre_round_up(nacre_ceil_div(g->m, nacre_ceil_div(want, p->j_count)), p->rows);
    if (gemm_is_half(g->c_type)) p->i_step = nacre_min(p->i_step, nacre_round_up(HALF_ROWS, p->rows));
    p->i_count = nacre_ceil_div(g->m, p->i_step);
}

// Returns the largest size of a block of b. It does not fall if an extent grows.
static size_t most_of_b(const nacre_f32_gemm *g, int one_strip) {
    const size_t nr = g->impl->nr, k = nacre_min(g->k, PANEL_A);
    return nacre_min(nacre_round_up(g->n, nr) * k,
                     one_strip ? GEMM_STRIP * nr * k : nacre_max(g->impl->block_b, nr * k));
}

// Returns the largest size of the copy of a block of rows. It does not fall if an extent grows.
static size_t most_of_rows(const nacre_f32_gemm *g) {
    if (g->impl->block_a == 0) return PANEL_A + MOST_ROWS * GEMM_PITCH;
    return g->n < GEMM_PACK_SAME * g->impl->nr ? 0
        : nacre_min(g->impl->block_a, nacre_round_up(g->m, g->impl->mr) * g->k);
}

// Returns the rows of a up to which b is read unpacked. If caches are small, the limit falls with
// the number of sets that the rows of b are spread over, and is low if b is large.
static size_t plain_rows(const nacre_f32_gemm *g) {
    if (g->impl->plain_spread == 0) return g->impl->plain_rows;
    const size_t most = (g->impl->plain_spread - 1) / gemm_spread(g->b.row * nacre_float_size(g->b.type));
    return nacre_min(g->k * g->n <= SMALL_B ? g->impl->plain_rows : FEW_PANELS * g->impl->mr, most);
}

static gemm_plan make_plan(const nacre_f32_gemm *given, gemm_path path, size_t threads, int64_t *transposed) {
    gemm_plan p = {.g = turned(given, path, transposed), .path = path, .products = nacre_batch_count(&given->batch)};
    p.lines = path == GEMV_DOT || path == GEMV_AXPY;
    p.pairs = path == PAIRS;
    const nacre_f32_gemm *const g = &p.g;
    if (p.products == 0 || g->m == 0 || g->n == 0) {
        p.products = 0;
        return p;
    }
    if (!p.lines) {
        p.rows = nacre_f32_gemm_panel_rows(g->impl, g->m);
        const int blocks = g->impl->block_a > 0;
        const size_t deepest = blocks && g->m > FEW_PANELS * g->impl->mr ? ROWS_K
            : nacre_max(BLOCK_K, PANEL_A / p.rows);
        p.k_step = nacre_max(1, nacre_ceil_div(g->k, nacre_max(1, nacre_ceil_div(g->k, deepest))));
        p.m_step = blocks ? g->impl->block_a / nacre_max(1, nacre_min(g->k, deepest)) / p.rows * p.rows : p.rows;
        const int narrow = g->b.packed && gemm_is_half(g->b.type) && !p.pairs, once = narrow && p.rows >= g->m;
        p.b_row = narrow && g->m == 1;
        if (once && g->m > 1) p.k_step = nacre_min(p.k_step, HALF_K);
        if (p.pairs) p.k_step = nacre_round_up(p.k_step, 2);
        const size_t block = !blocks && g->m < FEW_ROWS ? nacre_min(FEW_B, g->impl->block_b) : g->impl->block_b;
        p.n_step = g->m == 1 && g->b.packed ? ROW_COLUMNS / g->impl->nr * g->impl->nr : once ? g->impl->nr
            : nacre_max(1, block / p.k_step / g->impl->nr) * g->impl->nr;
        p.n_step = nacre_min(nacre_min(p.n_step, gemm_is_half(g->c_type) ? HALF_COLUMNS : p.n_step),
                             nacre_round_up(g->n, g->impl->nr));
        p.n_strip = blocks ? nacre_min(p.n_step, GEMM_STRIP * g->impl->nr) : p.n_step;
        p.one_strip = blocks && g->m <= p.m_step;
        p.rows_size = nacre_align_floats(most_of_rows(g));
        const int small = g->k * g->n <= SMALL_B;
        p.a_plain = p.pairs || ((small || g->a.col == 1) && !g->a.packed && !gemm_is_half(g->a.type));
        const size_t pitch = !p.a_plain && gemm_is_half(g->a.type) && !g->a.packed && g->a.col == 1
            ? nacre_round_up(g->k, GEMM_PITCH) + GEMM_PITCH : 0;
        p.a_wide = pitch > 0;
        p.a_row = p.a_plain ? g->a.row : p.a_wide ? pitch : 1;
        p.a_col = p.a_plain ? g->a.col : p.a_wide ? 1 : p.rows;
        p.a_size = p.a_wide ? g->m * pitch : nacre_f32_gemm_packed_a(g->impl, g->m, g->k);
        p.b_plain = g->m <= plain_rows(g) && !g->b.packed && g->make_b == NULL &&
            (p.pairs || !gemm_is_half(g->b.type)) && g->b.col == 1;
        p.a_distinct = p.a_plain || (g->a.packed && !gemm_is_half(g->a.type)) ? 0 : nacre_batch_distinct(&g->batch, 0);
        p.b_size = p.b_row || (g->b.packed && !narrow) ? 0 : nacre_align_floats(most_of_b(g, p.one_strip));
    }
    cut(&p, threads);
    if (gemm_is_half(g->c_type)) {
        p.c_size = nacre_align_floats(nacre_min(nacre_round_up(HALF_ROWS, g->impl->mr) + g->impl->mr,
                                                g->m) * nacre_min(HALF_COLUMNS, nacre_round_up(g->n, g->impl->nr)));
    }
    return p;
}

// Returns the elements of scratch that path_run needs.
static size_t path_scratch(const nacre_f32_gemm *g, gemm_path path, size_t threads) {
    int64_t transposed[3 * COLUMN_RANK];
    const gemm_plan p = make_plan(g, path, threads, transposed);
    return p.a_distinct * p.a_size + threads * (p.b_size + p.c_size + p.rows_size);
}

// ---- lines ----

// Writes row i of columns j0..j0+n-1 of c from the sums in line.
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
    const float *const a = gemm_at(&g->a, nacre_batch_offset(&g->batch, 0, index));
    const float *const b = (const float *)gemm_at(&g->b, nacre_batch_offset(&g->batch, 1, index)) + j0 * g->b.col;
    float lines[GEMV_ROWS][LINE];
    if (p->path == GEMV_DOT) {
        // A few rows of b at a time serve all rows of a, so that b is read once.
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
                g->impl->axpy(nacre_min(GROUP, g->k - k), a + i * g->a.row + k * g->a.col, g->a.col, b + k * g->b.row,
                              g->b.row, lines[i], n);
            }
        }
    }
    for (size_t i = 0; i < g->m; i++) finish_line(g, index, i, j0, n, lines[i]);
}

static void path_run(const nacre_f32_gemm *given, gemm_path path, nacre_team *team, float *scratch) {
    int64_t transposed[3 * COLUMN_RANK];
    gemm_plan p = make_plan(given, path, nacre_team_threads(team), transposed);
    if (p.products == 0) return;
    p.team = team;
    p.a_packed = scratch;
    p.b_blocks = scratch + p.a_distinct * p.a_size;
    p.c_blocks = p.b_blocks + nacre_team_threads(team) * p.b_size;
    p.rows_blocks = p.c_blocks + nacre_team_threads(team) * p.c_size;
    if (p.lines) {
        nacre_parallel(team, p.products * p.j_count, lines_chunk, &p);
        return;
    }
    const size_t a_chunks = p.a_distinct * nacre_ceil_div(p.g.m, p.rows);
    const int small = p.a_distinct * p.a_size < GRAIN / 16;
    nacre_parallel(small ? NULL : team, a_chunks, nacre_f32_gemm_pack_chunk, &p);
    nacre_parallel(team, p.products * p.i_count * p.j_count, nacre_f32_gemm_tiles_chunk, &p);
}

const nacre_f32_gemm_driver nacre_f32_gemm_drivers = {
    nacre_f32_gemm_packed_a, nacre_f32_gemm_packed_b,   nacre_f32_gemm_pack_a,
    nacre_f32_gemm_pack_b,   nacre_f32_gemm_panel_rows, nacre_f32_pack_panel,
};

static nacre_f32_gemm gemm_of(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_f32_gemm_words *const w = (const void *)words;
    nacre_f32_gemm g = {
        .impl = ((nacre_f32_gemm_fn *)kernel->fn)(), .m = (size_t)w->m, .n = (size_t)w->n, .k = (size_t)w->k,
        .a = {NULL, w->a_packed != 0, (nacre_dtype)w->a_type, (size_t)w->a_row, (size_t)w->a_col},
        .b = {NULL, w->b_packed != 0, (nacre_dtype)w->b_type, (size_t)w->b_row, (size_t)w->b_col},
        .batch = {(size_t)w->rank, w->axes},
        .alpha = (float)w->alpha, .row_count = 1, .c_type = (nacre_dtype)w->c_type, .ldc = (size_t)w->ldc,
    };
    g.finish.clamp = w->clamp != 0;
    g.finish.low = (float)w->low;
    g.finish.high = (float)w->high;
    g.finish.map = (void (*)(const void *, void *, size_t, const void *))nacre_part_fn(w->map);
    g.finish.params = w->params;
    return g;
}

#define GEMM nacre_f32_gemm
#define GEMM_PATH nacre_f32_gemm_path
#define PATH(name) nacre_f32_path_##name
#define ELEMENT float
#include "matmul/gemm_paths.inc"

DEFINE_PATH(pairs, PAIRS)

static size_t gemm_panel(const nacre_kernel *kernel) { return ((nacre_f32_gemm_fn *)kernel->fn)()->nr; }

// Returns the number of matrices of a constant operand, stored one after the other.
static size_t gemm_matrices(const nacre_f32_gemm *g, int operand) { return nacre_batch_distinct(&g->batch, operand); }

// Returns the bytes of a packed right operand, or 0 if most of them would be padding.
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
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .scratch = gemm_scratch,
    .packed = gemm_packed, .pack = gemm_pack, .panel = gemm_panel,
};
const nacre_entry nacre_f32_gemm_some_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch,
    .packed = gemm_packed, .pack = gemm_pack, .panel = gemm_panel,
};
const nacre_entry nacre_f32_gemm_exact_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .exact = 1, .run = gemm_command, .fits = gemm_fits,
    .scratch = gemm_scratch, .packed = gemm_packed, .pack = gemm_pack, .panel = gemm_panel,
};
const nacre_entry nacre_f32_gemv_entry = {
    .words = GEMM_WORDS, .operands = GEMM_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch,
};
