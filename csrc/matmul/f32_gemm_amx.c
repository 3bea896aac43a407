// Products of f32_gemm on tiles of bfloat16 parts (core/f32_parts.h).
//
// The thread that multiplies by a block of rows of a splits it into parts, some steps of the sums
// at a time, which fit its second-level cache. b is split where it is needed, a few steps of 32
// columns at a time, which fit the first-level cache. Sums stay in squares of 32 until they are
// complete. If a square's step has numbers without parts, it is computed with floats. The order of
// an element's sum depends on k alone, so results depend neither on the threads nor on where an
// element is.
#include <string.h>

#include "core/f32_parts.h"
#include "matmul/matmul.h"

#if NACRE_X86_64

enum {
    // Least extents for which splitting b pays.
    PARTS_LEAST_M = NACRE_AMX_ALWAYS ? 1 : 32,
    PARTS_LEAST_N = NACRE_AMX_ALWAYS ? 1 : 16,
    PARTS_LEAST_K = NACRE_AMX_ALWAYS ? 1 : 32,
    PARTS_ROWS = 256,        // rows of a block of a
    PARTS_BLOCK = 768 << 10, // bytes of its parts, which fit the second-level cache
    PARTS_STEPS = 3,         // steps of b at a time
    PARTS_WIDE = 32,         // squares side by side that wait for the next steps of a
    PARTS_AHEAD = 64         // numbers of a prefetched before they are split
};

typedef struct {
    const nacre_f32_gemm *g;
    const nacre_team *team;
    size_t products, steps;
    size_t a_parts, b_parts;
    size_t i_step, i_count;  // rows of a block, and blocks
    size_t j_step, j_count;
    size_t k_steps;          // steps of a block
    char *threads;
    size_t per_thread;
} parts_job;

// The memory of a thread.
typedef struct {
    char *b;       // [PARTS_STEPS][b_parts][2] tiles
    float *panel;  // of b, unless b is stored as floats
    float *sums;   // squares
    char *a;       // [k_steps][a_parts][i_step] lines
    uint8_t *odd;  // [k_steps][i_step / 32]: whether a number of a has no parts
} parts_memory;

enum { PANEL_FLOATS = PARTS_STEPS * NACRE_PARTS_DEPTH * NACRE_PARTS_SIDE,
      RIGHT_BYTES = PARTS_STEPS * NACRE_PARTS * NACRE_PARTS_RIGHT };

static size_t parts_of(nacre_dtype type) { return type == NACRE_DTYPE_f32 ? 3 : type == NACRE_DTYPE_bf16 ? 1 : 2; }

// Estimates in cycles. For a step of a sum: a square; splitting 32 numbers of a, and of b; packing
// 32 numbers of b for a product with floats. For a square: beginning and finishing it. PARTS_LONG
// is the length of a piece from which another thread may wait for it: half of the excess counts.
enum { PARTS_SQUARE = 620, PARTS_SPLIT_A = 30, PARTS_SPLIT_B = 45, PARTS_PACK_B = 12, PARTS_FINISH = 700,
      PARTS_LONG = 200000 };
#define PARTS_FLOATS 1.25

// Returns the cycles of a product of rows by columns.
static double parts_cycles(const nacre_f32_gemm *g, size_t rows, size_t columns) {
    const double squares = (double)nacre_ceil_div(rows, NACRE_PARTS_SIDE) * (double)nacre_ceil_div(columns,
                                                                                                   NACRE_PARTS_SIDE);
    const double split = (double)rows * PARTS_SPLIT_A +
        (double)columns * (double)nacre_ceil_div(rows, PARTS_ROWS) * PARTS_SPLIT_B;
    return (double)nacre_ceil_div(g->k, NACRE_PARTS_DEPTH) * (squares * PARTS_SQUARE + split) + squares * PARTS_FINISH;
}

// Reports whether parts take less time than floats on any number of threads.
static int parts_pay(const nacre_f32_gemm *g) {
    const double floats = PARTS_FLOATS * (double)g->m + (g->b.packed ? 0 : PARTS_PACK_B);
    return parts_cycles(g, g->m, g->n) < (double)g->k / NACRE_PARTS_DEPTH * (double)g->n * floats;
}

static int parts_can(const nacre_f32_gemm *g) {
    return g->m >= PARTS_LEAST_M && g->n >= PARTS_LEAST_N && g->k >= PARTS_LEAST_K && !g->a.packed && g->a.col == 1;
}

static int parts_fits(const nacre_f32_gemm *g) { return parts_can(g) && (NACRE_AMX_ALWAYS || parts_pay(g)); }

// Returns the bytes of the parts of 32 rows of a for a step.
static size_t parts_side(const parts_job *p) { return p->a_parts * NACRE_PARTS_SIDE * NACRE_AMX_LINE; }

// Returns the steps of a block of that many rows.
static size_t parts_steps(const parts_job *p, size_t rows) {
    const size_t most = PARTS_BLOCK / (nacre_ceil_div(rows, NACRE_PARTS_SIDE) * parts_side(p));
    return nacre_min(p->steps, nacre_max(1, most / PARTS_STEPS) * PARTS_STEPS);
}

static parts_job parts_make(const nacre_f32_gemm *g) {
    parts_job p = {.g = g, .products = nacre_batch_count(&g->batch), .steps = nacre_ceil_div(g->k, NACRE_PARTS_DEPTH)};
    p.a_parts = parts_of(g->a.type);
    p.b_parts = parts_of(g->b.type);
    return p;
}

// Returns the largest size in bytes of a thread's parts of a.
static size_t parts_left(const parts_job *p) {
    return nacre_min(nacre_ceil_div(p->g->m, NACRE_PARTS_SIDE) * p->steps * parts_side(p), PARTS_BLOCK);
}

static size_t parts_odd(const parts_job *p) {
    return nacre_align_bytes(parts_left(p) / (NACRE_PARTS_SIDE * NACRE_AMX_LINE));
}

// Returns the largest number of squares of a thread.
static size_t parts_squares(const parts_job *p) {
    const size_t rows = nacre_min(p->g->m, PARTS_ROWS), wait = p->steps > parts_steps(p, rows);
    return nacre_ceil_div(rows, NACRE_PARTS_SIDE) * (wait ? nacre_min(nacre_ceil_div(p->g->n, NACRE_PARTS_SIDE),
                                                                      PARTS_WIDE) : 1);
}

static size_t parts_per_thread(const parts_job *p) {
    return RIGHT_BYTES + (PANEL_FLOATS + parts_squares(p) * NACRE_PARTS_SUMS) * sizeof(float) + parts_left(p) +
        parts_odd(p);
}

static size_t parts_scratch(const nacre_f32_gemm *g, size_t threads) {
    if (!parts_can(g)) return 0;
    const parts_job p = parts_make(g);
    return threads * parts_per_thread(&p) / sizeof(float);
}

static parts_memory parts_memory_of(const parts_job *p, size_t thread) {
    parts_memory m = {.b = p->threads + thread * p->per_thread};
    m.panel = (float *)(void *)(m.b + RIGHT_BYTES);
    m.sums = m.panel + PANEL_FLOATS;
    m.a = (char *)(m.sums + parts_squares(p) * NACRE_PARTS_SUMS);
    m.odd = (uint8_t *)m.a + parts_left(p);
    return m;
}

// A block of rows, steps and columns.
typedef struct {
    size_t index;          // of the product
    size_t i0, rows, squares;
    size_t s0, steps;
    size_t j, columns;
    parts_memory m;
    float *sums;           // squares, one below the other
} parts_block;

// Returns the bytes from one part of a step of a to the next.
static size_t parts_part(const parts_block *x) { return x->squares * NACRE_PARTS_SIDE * NACRE_AMX_LINE; }

// ---- a ----

NACRE_TARGET_BEGIN(NACRE_AVX512)

// Splits the block of a into parts.
static void parts_split(const parts_job *p, const parts_block *x) {
    const nacre_f32_gemm *const g = p->g;
    const size_t size = nacre_float_size(g->a.type), part = parts_part(x);
    float wide[NACRE_PARTS_SIDE * NACRE_PARTS_DEPTH];
    for (size_t q = 0; q < x->squares; q++) {
        const size_t at = q * NACRE_PARTS_SIDE, rows = nacre_min(NACRE_PARTS_SIDE, x->rows - at);
        const char *const a = (const char *)g->a.data +
            (nacre_batch_offset(&g->batch, 0, x->index) + (x->i0 + at) * g->a.row) * size;
        char *dst = x->m.a + at * NACRE_AMX_LINE;
        for (size_t s = 0; s < x->steps; s++, dst += p->a_parts * part) {
            const size_t k0 = (x->s0 + s) * NACRE_PARTS_DEPTH, n = nacre_min(g->k - k0, NACRE_PARTS_DEPTH),
                first = nacre_min(n, 16);
            const float *from = (const float *)(const void *)a + k0;
            size_t row = g->a.row;
            if (g->a.type != NACRE_DTYPE_f32) {
                for (size_t i = 0; i < rows; i++) {
                    g->impl->half()->widen[g->a.type](a + (i * g->a.row + k0) * size, wide + i * NACRE_PARTS_DEPTH, n);
                }
                from = wide;
                row = NACRE_PARTS_DEPTH;
            }
            for (size_t i = 0; i < rows; i++) {
                const char *const ahead = a + (i * g->a.row + k0 + PARTS_AHEAD) * size;
                __builtin_prefetch(ahead, 0, 3);
                __builtin_prefetch(ahead + NACRE_AMX_LINE, 0, 3);
            }
            x->m.odd[s * x->squares + q] =
                (uint8_t)nacre_parts_lines(p->a_parts, from, row, 16, first, n - first, rows, dst, part);
        }
    }
}

// ---- b ----

// Numbers of b as floats: row k, column j is at[k*row + j].
typedef struct {
    const float *at;
    size_t row;
} parts_right;

// Returns rows k0..k0+k-1 of n columns from j on as floats. It uses panel unless they are stored
// so.
static parts_right parts_floats(const parts_job *p, size_t index, size_t k0, size_t k, size_t j, size_t n,
                                float *panel) {
    const nacre_f32_gemm *const g = p->g;
    const size_t nr = NACRE_PARTS_SIDE, size = nacre_float_size(g->b.type);
    if (g->make_b != NULL) {
        g->make_b(g->source, index, k0, k, j, n, panel);
        return (parts_right){panel, nr};
    }
    const char *const b = (const char *)g->b.data + nacre_batch_offset(&g->batch, 1, index) * size;
    if (g->b.packed) {
        const char *const from = b + (j * g->k + k0 * nr) * size;
        if (g->b.type == NACRE_DTYPE_f32) return (parts_right){(const float *)(const void *)from, nr};
        g->impl->half()->widen[g->b.type](from, panel, k * nr);
        return (parts_right){panel, nr};
    }
    const char *const from = b + (k0 * g->b.row + j * g->b.col) * size;
    if (g->b.type == NACRE_DTYPE_f32 && g->b.col == 1) {
        return (parts_right){(const float *)(const void *)from, g->b.row};
    }
    nacre_f32_pack_panel(g->impl->half(), k, n, from, g->b.type, g->b.col, g->b.row, nr, panel);
    return (parts_right){panel, nr};
}

// ---- sums ----

// Writes the complete sums of a square to rows from i and columns from j on of product index.
static void parts_finish(const parts_job *p, size_t index, size_t i, size_t j, size_t rows, size_t columns,
                         const float *sums) {
    const nacre_f32_gemm *const g = p->g;
    const nacre_f32_finish *const f = &g->finish;
    const __m512 alpha = _mm512_set1_ps(g->alpha), low = _mm512_set1_ps(f->low), high = _mm512_set1_ps(f->high);
    float line[NACRE_PARTS_SIDE];
    for (size_t r = 0; r < rows; r++) {
        const size_t at = (index * g->m + i + r) * g->ldc + j;
        float *const c = g->c_type == NACRE_DTYPE_f32 ? (float *)g->c + at : line;
        const __m512 row = _mm512_set1_ps(g->row == NULL ? 0 : g->row[index % g->row_count * g->m + i + r]);
        for (size_t e = 0; e < columns; e += 16) {
            const __mmask16 m = (__mmask16)((1u << nacre_min(16, columns - e)) - 1);
            __m512 v = _mm512_loadu_ps(sums + r * NACRE_PARTS_SIDE + e);
            if (g->alpha != 1) v = _mm512_mul_ps(v, alpha);
            if (f->add != NULL) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(m, f->add + at + e));
            if (g->row != NULL) v = _mm512_add_ps(v, row);
            if (g->col != NULL) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(m, g->col + j + e));
            if (f->clamp) v = _mm512_min_ps(high, _mm512_max_ps(low, v));
            _mm512_mask_storeu_ps(c + e, m, v);
        }
        if (f->map != NULL) f->map(c, c, columns, f->params);
        if (g->c_type != NACRE_DTYPE_f32) g->impl->half()->narrow[g->c_type](line, (uint16_t *)g->c + at, columns);
    }
}

// Computes the steps s..s+n-1 of square q with floats.
static void parts_plainly(const parts_job *p, const parts_block *x, parts_right b, size_t s, size_t n, size_t q) {
    const nacre_f32_gemm *const g = p->g;
    const size_t size = nacre_float_size(g->a.type), k0 = s * NACRE_PARTS_DEPTH,
        k = nacre_min(g->k - k0, n * NACRE_PARTS_DEPTH);
    const size_t at = q * NACRE_PARTS_SIDE, rows = nacre_min(NACRE_PARTS_SIDE, x->rows - at);
    const char *const a = (const char *)g->a.data +
        (nacre_batch_offset(&g->batch, 0, x->index) + (x->i0 + at) * g->a.row + k0) * size;
    float *const sums = x->sums + q * NACRE_PARTS_SUMS;
    float wide[PARTS_STEPS * NACRE_PARTS_DEPTH];
    if (s == 0) memset(sums, 0, NACRE_PARTS_SUMS * sizeof(float));
    for (size_t i = 0; i < rows; i++) {
        const float *row = (const float *)(const void *)a + i * g->a.row;
        if (g->a.type != NACRE_DTYPE_f32) {
            g->impl->half()->widen[g->a.type](a + i * g->a.row * size, wide, k);
            row = wide;
        }
        nacre_parts_plain(row, 0, k, 1, b.at, b.row, x->columns, sums + i * NACRE_PARTS_SIDE);
    }
}

// Adds n steps, from s on, to all squares of a block.
static void parts_add(const parts_job *p, const parts_block *x, size_t s, size_t n) {
    const size_t k0 = s * NACRE_PARTS_DEPTH, k = nacre_min(p->g->k - k0, n * NACRE_PARTS_DEPTH), part = parts_part(x);
    const parts_right b = parts_floats(p, x->index, k0, k, x->j, x->columns, x->m.panel);
    const int odd_b = nacre_parts_right(p->b_parts, b.at, b.row, k, x->columns, x->m.b);
    size_t step[PARTS_STEPS];
    for (size_t i = 0; i < n; i++) step[i] = i * p->a_parts * part;
    nacre_parts_square t = {.a_parts = p->a_parts, .b_parts = p->b_parts, .steps = n, .a_part = part, .step = step,
                            .b = x->m.b, .columns = x->columns, .add = s > 0};
    // The numbers of b that come next. Each square prefetches its share.
    if (b.at != x->m.panel) {
        t.next = (const char *)(b.at + k * b.row);
        t.next_row = b.row * sizeof(float);
        t.next_rows = nacre_ceil_div(k, x->squares);
    }
    for (size_t q = 0; q < x->squares; q++) {
        int odd = odd_b;
        for (size_t i = 0; i < n; i++) odd |= x->m.odd[(s - x->s0 + i) * x->squares + q];
        if (odd) {
            parts_plainly(p, x, b, s, n, q);
            continue;
        }
        t.a = x->m.a + (s - x->s0) * p->a_parts * part + q * NACRE_PARTS_SIDE * NACRE_AMX_LINE;
        t.rows = nacre_min(NACRE_PARTS_SIDE, x->rows - q * NACRE_PARTS_SIDE);
        t.sums = x->sums + q * NACRE_PARTS_SUMS;
        nacre_parts_multiply(&t);
        if (t.next != NULL) t.next += t.next_rows * t.next_row;
    }
}

NACRE_TARGET_END

static void parts_chunk(void *job, size_t chunk, size_t thread) {
    const parts_job *const p = job;
    const nacre_f32_gemm *const g = p->g;
    const size_t j0 = chunk / p->i_count % p->j_count * p->j_step, j1 = nacre_min(g->n, j0 + p->j_step);
    parts_block x = {.index = chunk / p->i_count / p->j_count, .i0 = chunk % p->i_count * p->i_step,
                     .m = parts_memory_of(p, thread)};
    x.rows = nacre_min(p->i_step, g->m - x.i0);
    x.squares = nacre_ceil_div(x.rows, NACRE_PARTS_SIDE);
    const size_t wait = p->steps > p->k_steps;
    nacre_amx_begin();
    for (; x.s0 < p->steps; x.s0 += p->k_steps) {
        const size_t end = nacre_min(p->steps, x.s0 + p->k_steps);
        x.steps = end - x.s0;
        parts_split(p, &x);
        for (x.j = j0; x.j < j1 && !nacre_stopped(p->team); x.j += NACRE_PARTS_SIDE) {
            x.columns = nacre_min(NACRE_PARTS_SIDE, j1 - x.j);
            x.sums = x.m.sums + (wait ? (x.j - j0) / NACRE_PARTS_SIDE * x.squares * NACRE_PARTS_SUMS : 0);
            for (size_t s = x.s0; s < end; s += PARTS_STEPS) parts_add(p, &x, s, nacre_min(PARTS_STEPS, end - s));
            for (size_t q = 0; q < x.squares && end == p->steps; q++) {
                const size_t i = q * NACRE_PARTS_SIDE;
                parts_finish(p, x.index, x.i0 + i, x.j, nacre_min(NACRE_PARTS_SIDE, x.rows - i), x.columns,
                             x.sums + q * NACRE_PARTS_SUMS);
            }
        }
    }
    nacre_amx_end();
}

// Cuts c into at least `down` blocks of rows and `across` pieces of columns.
static void parts_pieces(parts_job *p, size_t down, size_t across) {
    p->i_step = nacre_round_up(nacre_ceil_div(p->g->m, down), NACRE_PARTS_SIDE);
    p->i_count = nacre_ceil_div(p->g->m, p->i_step);
    p->k_steps = parts_steps(p, p->i_step);
    p->j_step = nacre_round_up(nacre_ceil_div(p->g->n, across), NACRE_PARTS_SIDE);
    if (p->steps > p->k_steps) p->j_step = nacre_min(p->j_step, PARTS_WIDE * NACRE_PARTS_SIDE);
    p->j_count = nacre_ceil_div(p->g->n, p->j_step);
}

// Cuts c for that many threads so that the estimated time is least.
static void parts_cut(parts_job *p, size_t threads) {
    const size_t least = nacre_ceil_div(p->g->m, PARTS_ROWS), more = threads < 2 ? 0 : 2 * threads;
    double best = 0;
    size_t down = least, across = 1;
    for (size_t i = least; i <= least + more && threads > 1; i++) {
        for (size_t j = 1; j <= more; j++) {
            parts_pieces(p, i, j);
            const double piece = parts_cycles(p->g, p->i_step, p->j_step);
            double cycles = (double)nacre_ceil_div(p->products * p->i_count * p->j_count, threads) * piece;
            if (piece > PARTS_LONG) cycles += (piece - PARTS_LONG) / 2;
            if (best == 0 || cycles < best) best = cycles, down = i, across = j;
        }
    }
    parts_pieces(p, down, across);
}

static void parts_run(const nacre_f32_gemm *g, nacre_team *team, float *scratch) {
    parts_job p = parts_make(g);
    p.team = team;
    p.threads = (char *)scratch;
    p.per_thread = parts_per_thread(&p);
    parts_cut(&p, nacre_team_threads(team));
    nacre_parallel(team, p.products * p.i_count * p.j_count, parts_chunk, &p);
}

const nacre_f32_gemm_path nacre_f32_path_parts = {parts_fits, parts_scratch, parts_run};

// ---- parts or tiles, as the extents of the run decide ----

static size_t either_scratch(const nacre_f32_gemm *g, size_t threads) {
    return nacre_max(parts_scratch(g, threads), nacre_f32_path_tiles.scratch(g, threads));
}

static void either_run(const nacre_f32_gemm *g, nacre_team *team, float *scratch) {
    (parts_fits(g) ? parts_run : nacre_f32_path_tiles.run)(g, team, scratch);
}

const nacre_f32_gemm_path nacre_f32_path_parts_or_tiles = {parts_fits, either_scratch, either_run};

#endif
