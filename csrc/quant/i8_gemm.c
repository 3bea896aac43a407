// Drivers of i8_gemm: blocking, batches, threads.
//
// The caller says how a product is computed. Lines, for few rows, read b unpacked. For tiles, a is
// packed whole, beforehand, or read where it lies if its rows are as they would be packed; the thread that needs a block of b packs it, in a size that stays in
// the second-level cache. Sums are never cut along k: a tile is finished when it is computed.
#include "quant/i8_sum.h"
#include "quant/numbers.h"

enum {
    I8_BLOCK_A = 1 << 19,  // bytes of the panels of a that meet a panel of b, one after the other
    I8_BLOCK_B = 1 << 18,  // bytes of a block of b: both blocks stay in the second-level cache
    I8_MOST_LINES = 3,     // rows up to which packing b does not pay
    I8_LINE = 1024,        // columns computed at a time in lines
    I8_GRAIN = 1 << 19,    // least multiply-adds of a piece for a thread
    I8_SHARES = 4          // pieces per thread, so that a slow one does not hold up the rest
};

typedef struct {
    const nacre_i8_gemm *g;
    const nacre_team *team;  // chunks check whether it has stopped
    int lines, need_sums, need_row_sums;
    int in_place;  // a is read where it lies; it has sums alone packed
    size_t products;
    size_t i_step, i_count, j_step, j_count;  // the piece of c in one chunk of work
    size_t depth;       // k, rounded up to whole groups
    size_t rows;        // of a panel of a
    size_t a_distinct;  // matrices of a to pack
    size_t a_size;      // bytes of one of them
    size_t b_size;      // of a thread's block of b with its sums
    size_t made_size;   // of a thread's rows of b, if make_b makes them
    size_t thread_size; // of a thread's memory
    uint8_t *a_packed, *thread_memory;
} i8_plan;

int nacre_i8_gemm_few_rows(size_t m) { return m <= I8_MOST_LINES; }

// Returns the number that is added to a zero point of a to get the zero point of a'.
static int32_t i8_a_shift(const nacre_i8_gemm *g) {
    if (nacre_i8_flat(g->impl)) return g->a.is_signed ? 128 : 0;
    return g->a.is_signed ? 0 : -128;
}

static int32_t i8_b_shift(const nacre_i8_gemm *g) {
    if (g->impl->b_unsigned) return g->b.is_signed ? 128 : 0;
    return g->b.is_signed ? 0 : -128;
}

// Reports whether a zero point of a' is not 0.
static int i8_need_sums(const nacre_i8_gemm *g) {
    const int32_t none = -i8_a_shift(g);
    for (size_t i = 0; i < g->m * g->row_count; i++) {
        if (g->a_zero[i] != none) return 1;
    }
    return 0;
}

// Reports whether a zero point of b' is not 0.
static int i8_need_row_sums(const nacre_i8_gemm *g) {
    const int32_t none = -i8_b_shift(g);
    for (size_t j = 0; j < g->n * g->col_count; j++) {
        if (g->b_zero[j] != none) return 1;
    }
    return 0;
}

// Cuts one product into pieces. Columns are cut first, because rows share a block of b.
static void i8_cut(i8_plan *p, size_t threads) {
    const nacre_i8_gemm *const g = p->g;
    const size_t row = g->m * nacre_max(g->k, 1), work = row / I8_GRAIN * g->n + row % I8_GRAIN * g->n / I8_GRAIN;
    size_t want = threads < 2 ? 1 : nacre_max(1, nacre_min(threads * I8_SHARES, work * p->products));
    want = nacre_ceil_div(want, p->products);
    const size_t nr = g->impl->nr, unit = p->lines ? 64 : g->b.packed ? nr : 4 * nr;
    p->j_step = nacre_round_up(nacre_ceil_div(g->n, want), unit);
    if (p->lines) {
        p->j_step = nacre_min(p->j_step, I8_LINE);
    } else if (!g->b.packed) {
        p->j_step = nacre_min(p->j_step, nacre_max(1, I8_BLOCK_B / nacre_max(p->depth, 1) / nr) * nr);
    }
    p->j_count = nacre_ceil_div(g->n, p->j_step);
    p->i_step = p->lines ? g->m : nacre_round_up(nacre_ceil_div(g->m, nacre_ceil_div(want, p->j_count)), p->rows);
    p->i_count = nacre_ceil_div(g->m, p->i_step);
}

static i8_plan i8_make_plan(const nacre_i8_gemm *g, size_t threads) {
    i8_plan p = {.g = g, .products = nacre_batch_count(&g->batch), .lines = g->lines};
    if (g->m == 0 || g->n == 0) p.products = 0;
    if (p.products == 0) return p;
    p.depth = nacre_round_up(g->k, g->impl->a_group);
    p.rows = nacre_i8_panel_rows(g->impl, g->m);
    i8_cut(&p, threads);
    p.in_place = nacre_i8_flat(g->impl) && !p.lines && !g->a.packed && !g->a.is_signed && g->a.col == 1 && g->k % g->impl->group == 0;
    const size_t columns = nacre_min(p.j_step, g->n);
    if (g->make_b != NULL) p.made_size = nacre_align_bytes(g->k * columns);
    if (p.lines) {
        p.a_size = nacre_align_bytes(g->m * g->k * sizeof(int16_t)) + nacre_align_bytes(g->m * sizeof(int32_t));
    } else {
        p.a_size = nacre_i8_gemm_packed_a(g->impl, g->m, g->k);
        if (!g->b.packed) p.b_size = nacre_i8_gemm_packed_b(g->impl, columns, g->k);
    }
    // In lines, each row has its own zero points subtracted, which may differ between products that
    // share a.
    p.a_distinct = g->a.packed ? 0 : p.lines ? p.products : nacre_batch_distinct(&g->batch, 0);
    p.thread_size = p.made_size + p.b_size;
    return p;
}

// A product that is not cut has the widest pieces of b: a block and its sums.
size_t nacre_i8_gemm_scratch(const nacre_i8_gemm *g, size_t threads) {
    const i8_plan p = i8_make_plan(g, threads);
    const size_t nr = g->impl->nr, columns = nacre_ceil_div(nacre_max(g->n, 1), 4 * nr) * 4 * nr;
    const size_t block = nacre_min(columns * p.depth, nacre_max(I8_BLOCK_B, nr * p.depth));
    size_t thread_size = 0;
    if (g->make_b != NULL) thread_size += nacre_align_bytes(p.lines ? g->k * nacre_min(g->n, I8_LINE) : block);
    if (!p.lines && !g->b.packed) {
        thread_size += nacre_align_bytes(block) +
            nacre_align_bytes(nacre_min(columns, nacre_max(I8_BLOCK_B / g->impl->group, nr)) * sizeof(int32_t));
    }
    return p.a_distinct * p.a_size + threads * nacre_max(thread_size, p.thread_size);
}

static const uint8_t *i8_bytes(const nacre_i8_operand *x, size_t offset) { return (const uint8_t *)x->data + offset; }

static size_t i8_sums_of_a(const i8_plan *p) {
    const nacre_i8_gemm *const g = p->g;
    if (p->in_place) return 0;
    return p->lines ? nacre_align_bytes(g->m * g->k * sizeof(int16_t))
                    : nacre_align_bytes(nacre_round_up(g->m, p->rows) * p->depth * g->impl->a_bytes);
}

static void i8_pack_a_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_plan *const p = job;
    const nacre_i8_gemm *const g = p->g;
    const size_t panels = nacre_ceil_div(g->m, p->rows), matrix = chunk / panels, i = chunk % panels * p->rows;
    uint8_t *const dst = p->a_packed + matrix * p->a_size;
    const uint8_t *const a = i8_bytes(&g->a, nacre_batch_distinct_offset(&g->batch, 0, matrix)) + i * g->a.row;
    const size_t lanes = nacre_min(p->rows, g->m - i);
    if (p->in_place) {
        int32_t *const sums = (int32_t *)(void *)dst + i;
        for (size_t r = 0; r < lanes; r++) sums[r] = p->need_row_sums ? nacre_i8_sum_unsigned(g->k, a + r * g->a.row) : 0;
        return;
    }
    nacre_i8_pack_a_panel(g->impl, g->k, lanes, p->rows, a, &g->a,
                          dst + i * p->depth * g->impl->a_bytes, (int32_t *)(void *)(dst + i8_sums_of_a(p)) + i);
}

static void i8_widen_a_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_plan *const p = job;
    const nacre_i8_gemm *const g = p->g;
    uint8_t *const dst = p->a_packed + chunk * p->a_size;
    int32_t *const sums = (int32_t *)(void *)(dst + i8_sums_of_a(p));
    const uint8_t *const a = i8_bytes(&g->a, nacre_batch_offset(&g->batch, 0, chunk));
    for (size_t i = 0; i < g->m; i++) {
        const int32_t zero = g->a_zero[chunk % g->row_count * g->m + i];
        int16_t *const row = (int16_t *)(void *)dst + i * g->k;
        sums[i] = 0;
        for (size_t k = 0; k < g->k; k++) {
            const uint8_t v = a[i * g->a.row + k * g->a.col];
            row[k] = (int16_t)((g->a.is_signed ? (int8_t)v : v) - zero);
            sums[i] += row[k];
        }
    }
}

static size_t i8_result_size(nacre_dtype type) { return type == NACRE_DTYPE_u8 || type == NACRE_DTYPE_i8 ? 1 : 4; }

// Returns the members shared by all tiles of a piece.
static nacre_i8_finish i8_finish_of(const i8_plan *p, size_t index, size_t j0) {
    const nacre_i8_gemm *const g = p->g;
    const size_t rows = index % g->row_count * g->m, cols = index % g->col_count * g->n + j0;
    const size_t size = i8_result_size(g->type);
    return (nacre_i8_finish){
        .k = g->k,
        .a_zero = p->lines ? NULL : g->a_zero + rows,
        .b_zero = g->b_zero + cols,
        .a_shift = (uint32_t)i8_a_shift(g),
        .bias = g->bias == NULL ? NULL : g->bias + rows * g->bias_row + j0 * g->bias_col,
        .bias_row = g->bias_row,
        .bias_col = g->bias_col,
        .row_scale = g->row_scale == NULL ? NULL : g->row_scale + rows,
        .col_scale = g->col_scale == NULL ? NULL : g->col_scale + cols,
        .add = g->add == NULL ? NULL : g->add + j0,
        .then = g->then,
        .row = rows,
        .at = index * g->m * g->n + j0,
        .type = g->type,
        .zero = g->zero,
        .c = (uint8_t *)g->c + (index * g->m * g->n + j0) * size,
        .ldc = g->n,
    };
}

// Returns f moved to the block from row i and column j on.
static nacre_i8_finish i8_finish_at(const nacre_i8_finish *f, size_t i, size_t j) {
    nacre_i8_finish t = *f;
    const size_t size = i8_result_size(f->type);
    t.a_sums += i;
    t.row += i;
    t.at += i * t.ldc + j;
    if (t.a_zero != NULL) t.a_zero += i;
    if (t.b_sums != NULL) t.b_sums += j;
    t.b_zero += j;
    if (t.bias != NULL) t.bias += i * t.bias_row + j * t.bias_col;
    if (t.row_scale != NULL) t.row_scale += i;
    if (t.col_scale != NULL) t.col_scale += j;
    if (t.add != NULL) t.add += j;
    t.c = (uint8_t *)t.c + (i * t.ldc + j) * size;
    return t;
}

static const uint8_t *i8_b_columns(const i8_plan *p, size_t index, size_t j0, size_t n, uint8_t *buffer,
                                   nacre_i8_operand *form) {
    const nacre_i8_gemm *const g = p->g;
    *form = g->b;
    if (g->make_b == NULL) return i8_bytes(&g->b, nacre_batch_offset(&g->batch, 1, index)) + j0 * g->b.col;
    form->col = 1;
    return g->make_b(g->source, index, j0, n, buffer, &form->row);
}

static void i8_lines_chunk(void *job, size_t chunk, size_t thread) {
    const i8_plan *const p = job;
    const nacre_i8_gemm *const g = p->g;
    const size_t index = chunk / p->j_count, j0 = chunk % p->j_count * p->j_step, n = nacre_min(p->j_step, g->n - j0);
    nacre_i8_operand form;
    const uint8_t *const b = i8_b_columns(p, index, j0, n, p->thread_memory + thread * p->thread_size, &form);
    const uint8_t *const a = p->a_packed + index * p->a_size;
    int32_t sums[I8_MOST_LINES * I8_LINE];
    for (size_t i = 0; i < g->m; i++) {
        g->impl->line(g->k, (const int16_t *)(const void *)a + i * g->k, b, form.row, form.is_signed,
                      sums + i * I8_LINE, n);
    }
    nacre_i8_finish f = i8_finish_of(p, index, j0);
    f.m = g->m;
    f.n = n;
    f.sums = sums;
    f.sums_row = I8_LINE;
    f.a_sums = (const int32_t *)(const void *)(a + i8_sums_of_a(p));
    g->impl->finish(&f);
}

// Multiplies one row by the panels of n columns of b, several at a time.
static void i8_row(const i8_plan *p, const nacre_i8_finish *f, size_t n, const uint8_t *a, const uint8_t *b) {
    const nacre_i8_gemm_impl *const impl = p->g->impl;
    const size_t groups = p->depth / impl->group, panel = impl->nr * p->depth, wide = NACRE_I8_WIDE * impl->nr;
    int32_t sums[NACRE_I8_TILE];
    const size_t most = NACRE_I8_TILE / wide * wide;
    nacre_i8_begin(impl);
    for (size_t j = 0; j < n && !nacre_stopped(p->team); j += most) {
        nacre_i8_finish t = i8_finish_at(f, 0, j);
        t.m = 1;
        t.n = nacre_min(most, n - j);
        t.sums = sums;
        size_t at = 0;
        for (; at + wide <= t.n; at += wide, b += NACRE_I8_WIDE * panel) impl->row(groups, a, b, panel, sums + at);
        for (; at < t.n; at += impl->nr, b += panel) {
            impl->tile(groups, 1, nacre_min(impl->nr, t.n - at), a, 0, b, sums + at, b, 0);
        }
        impl->finish(&t);
    }
    nacre_i8_end(impl);
}

// Fetches the lines of m rows that are written once their sums are computed.
static void i8_prefetch_rows(const void *c, size_t step, size_t m, size_t bytes) {
    for (const char *row = c; m > 0; m--, row += step) {
        for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 1, 2);
    }
}

// What is added to the sums of a product whose rows have one zero point, and whose columns, too: a
// number for each row and one for each column.
typedef struct {
    int there;
    uint32_t a_zero, b_zero;  // of a' and b'
} i8_outer;

static int i8_same(size_t n, const int32_t *v) {
    for (size_t i = 1; i < n; i++) {
        if (v[i] != v[0]) return 0;
    }
    return 1;
}

// Returns what is added to the int32 results of n columns, and whether it has this form.
static i8_outer i8_outer_of(const i8_plan *p, const nacre_i8_finish *f, size_t n) {
    const int there = p->g->impl->whole != NULL && f->type == NACRE_DTYPE_i32 && p->g->m > 0 && (f->bias == NULL || f->bias_row == 0 || f->bias_col == 0);
    if (!there || !i8_same(n, f->b_zero) || (f->a_zero != NULL && !i8_same(p->g->m, f->a_zero))) return (i8_outer){0};
    return (i8_outer){1, f->a_zero == NULL ? 0 : (uint32_t)f->a_zero[0] + f->a_shift, (uint32_t)f->b_zero[0] + f->b_shift};
}

// Sets what is added to n columns from column j on.
static void i8_outer_columns(const i8_outer *o, const nacre_i8_finish *f, size_t j, size_t n, int32_t *col) {
    for (size_t l = 0; l < n; l++) {
        uint32_t v = o->a_zero == 0 ? 0 : -o->a_zero * (uint32_t)f->b_sums[j + l];
        if (f->bias != NULL && f->bias_row == 0) v += (uint32_t)f->bias[(j + l) * f->bias_col];
        col[l] = (int32_t)v;
    }
}

// Sets what is added to m rows from row i on.
static void i8_outer_rows(const i8_outer *o, const nacre_i8_finish *f, size_t i, size_t m, int32_t *row) {
    for (size_t l = 0; l < m; l++) {
        uint32_t v = -((uint32_t)f->a_sums[i + l] - (uint32_t)f->k * o->a_zero) * o->b_zero;
        if (f->bias != NULL && f->bias_row != 0) v += (uint32_t)f->bias[(i + l) * f->bias_row];
        row[l] = (int32_t)v;
    }
}

// Returns the rows of a that stay in the cache while all columns of a piece meet them.
static size_t i8_block_rows(const i8_plan *p) {
    return nacre_max(1, I8_BLOCK_A / nacre_max(1, p->rows * p->depth * p->g->impl->a_bytes)) * p->rows;
}

// Multiplies rows i0 up to i1 by the panels of n columns of b.
static void i8_tiles(const i8_plan *p, const nacre_i8_finish *f, size_t i0, size_t i1, size_t n, const uint8_t *a,
                     size_t a_row, const uint8_t *b) {
    const nacre_i8_gemm_impl *const impl = p->g->impl;
    const size_t groups = p->depth / impl->group, panel = impl->nr * p->depth;
    const size_t portion = nacre_ceil_div(panel, nacre_ceil_div(i1 - i0, p->rows));
    const size_t next_step = nacre_ceil_div(portion, nacre_max(1, groups));
    const i8_outer outer = i8_outer_of(p, f, n);
    int32_t sums[NACRE_I8_TILE], row[NACRE_I8_ROWS], col[NACRE_I8_TILE];
    nacre_i8_begin(impl);
    for (size_t j = 0; j < n; j += impl->nr, b += panel) {
        const int whole = outer.there && n - j >= impl->nr;
        const uint8_t *next = b + panel;
        if (whole) i8_outer_columns(&outer, f, j, impl->nr, col);
        for (size_t i = i0; i < i1 && !nacre_stopped(p->team); i += p->rows, next += portion) {
            const uint8_t *const rows = a + i * a_row;
            if (whole && i1 - i >= p->rows) {
                int32_t *const c = (int32_t *)f->c + i * f->ldc + j;
                i8_prefetch_rows(c, f->ldc * sizeof *c, p->rows, impl->nr * sizeof *c);
                i8_outer_rows(&outer, f, i, p->rows, row);
                impl->whole(groups, p->rows, rows, a_row, b, row, col, c, f->ldc, next, next_step);
                continue;
            }
            nacre_i8_finish t = i8_finish_at(f, i, j);
            const size_t size = i8_result_size(f->type);
            t.m = nacre_min(p->rows, i1 - i);
            t.n = nacre_min(impl->nr, n - j);
            t.sums = sums;
            t.sums_row = impl->nr;
            i8_prefetch_rows(t.c, t.ldc * size, t.m, t.n * size);
            impl->tile(groups, nacre_i8_flat(impl) ? t.m : p->rows, t.n, rows, a_row, b, sums, next, next_step);
            impl->finish(&t);
        }
    }
    nacre_i8_end(impl);
}

static void i8_tiles_chunk(void *job, size_t chunk, size_t thread) {
    const i8_plan *const p = job;
    const nacre_i8_gemm *const g = p->g;
    const nacre_i8_gemm_impl *const impl = g->impl;
    const size_t i0 = chunk % p->i_count * p->i_step, rest = chunk / p->i_count;
    const size_t index = rest / p->j_count, j0 = rest % p->j_count * p->j_step;
    const size_t i1 = nacre_min(g->m, i0 + p->i_step), n = nacre_min(p->j_step, g->n - j0);
    nacre_i8_finish f = i8_finish_of(p, index, j0);
    f.b_shift = (uint32_t)i8_b_shift(g);

    const uint8_t *b;
    if (g->b.packed) {
        const uint8_t *const whole = i8_bytes(&g->b, nacre_batch_offset(&g->batch, 1, index));
        b = whole + j0 * p->depth;
        f.b_sums = (const int32_t *)(const void *)(whole +
                                                   nacre_align_bytes(nacre_round_up(g->n, impl->nr) * p->depth)) + j0;
    } else {
        uint8_t *const memory = p->thread_memory + thread * p->thread_size, *const block = memory + p->made_size;
        const uint8_t **const rows = (const uint8_t **)(void *)memory;
        if (g->rows_of_b != NULL && n >= sizeof *rows && g->rows_of_b(g->source, index, j0, n, rows)) {
            nacre_i8_pack_b_rows(impl, g->k, n, rows, g->b.is_signed, block);
        } else {
            nacre_i8_operand form;
            const uint8_t *const columns = i8_b_columns(p, index, j0, n, memory, &form);
            nacre_i8_pack_b_panels(impl, g->k, n, columns, &form, block);
        }
        if (p->need_sums) {
            int32_t *const sums = (int32_t *)(void *)(block +
                                                      nacre_align_bytes(nacre_round_up(n, impl->nr) * p->depth));
            nacre_i8_column_sums(impl, g->k, n, block, sums);
            f.b_sums = sums;
        }
        b = block;
    }
    const uint8_t *const own = p->a_packed + nacre_batch_number(&g->batch, 0, index) * p->a_size;
    const uint8_t *const given = i8_bytes(&g->a, nacre_batch_offset(&g->batch, 0, index));
    const uint8_t *const a = g->a.packed || p->in_place ? given : own;
    const size_t a_row = p->in_place ? g->a.row : p->depth * impl->a_bytes;
    f.a_sums = (const int32_t *)(const void *)((g->a.packed ? given : own) + i8_sums_of_a(p));

    if (g->m == 1) {
        i8_row(p, &f, n, a, b);
        return;
    }
    const size_t step = i8_block_rows(p);
    for (size_t i = i0; i < i1; i += step) i8_tiles(p, &f, i, nacre_min(i1, i + step), n, a, a_row, b);
}

void nacre_i8_gemm_run(const nacre_i8_gemm *g, nacre_team *team, uint8_t *scratch) {
    i8_plan p = i8_make_plan(g, nacre_team_threads(team));
    if (p.products == 0) return;
    p.team = team;
    p.need_sums = i8_need_sums(g);
    p.need_row_sums = i8_need_row_sums(g);
    p.a_packed = scratch;
    p.thread_memory = scratch + p.a_distinct * p.a_size;
    const int small = p.a_distinct * p.a_size < 1 << 16;
    if (p.lines) {
        nacre_parallel(small ? NULL : team, p.products, i8_widen_a_chunk, &p);
        nacre_parallel(team, p.products * p.j_count, i8_lines_chunk, &p);
        return;
    }
    nacre_parallel(small ? NULL : team, p.a_distinct * nacre_ceil_div(g->m, p.rows), i8_pack_a_chunk, &p);
    nacre_parallel(team, p.products * p.i_count * p.j_count, i8_tiles_chunk, &p);
}
