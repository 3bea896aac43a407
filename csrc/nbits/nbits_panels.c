// Kernel rows of packed codes. Few rows of a, or rounded rows, are multiplied by the codes of a panel
// directly, group by group while the panel stays in a cache. For many rows, a product of floats
// decodes panels block by block.
#include "nbits/product.h"

enum {
    PANELS_FEW = 24,   // rows up to which decoding panels to memory does not pay
    PANELS_ROWS = 120  // rounded rows at a time, a multiple of every group: second-level cache
};

// Rows from first on, in x as kernels read them, and the columns of a piece.
typedef struct {
    const nbits_product *g;
    size_t most;  // rows of a group
    size_t first, rows, columns;
    size_t each;  // bytes of a row of x
    uint8_t *x;
} panels_rows;

static panels_rows panels_rows_of(const nbits_product *g, void *x) {
    panels_rows l = {.g = g, .rows = nacre_min(g->m, PANELS_ROWS), .x = x};
    l.most = g->rounded != NULL ? g->rounded->most : g->impl->most;
    l.each = g->rounded != NULL ? nacre_nbits_rounded_bytes(&g->panels) : nacre_nbits_deep(&g->panels) * sizeof(float);
    l.columns = nacre_round_up(nacre_max(1, NBITS_GRAIN / nacre_max(1, l.rows * g->w.k)), g->panels.lanes);
    return l;
}

// Writes x[p*rows + i] = a[i*k + p], and 0 from k on.
static void panels_turn(const nbits_product *g, size_t rows, const float *a, float *x) {
    const size_t k = g->w.k, deep = nacre_nbits_deep(&g->panels);
    for (size_t i = 0; i < rows; i++) {
        for (size_t p = 0; p < k; p++) x[p * rows + i] = a[i * k + p];
        for (size_t p = k; p < deep; p++) x[p * rows + i] = 0;
    }
}

// Arranges the rows of a chunk: a group of the most rows, or groups of what is left.
static void panels_row_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const panels_rows *const l = job;
    const nbits_product *const g = l->g;
    const size_t end = nacre_min((chunk + 1) * l->most, l->rows);
    for (size_t i = chunk * l->most, rows; i < end; i += rows) {
        rows = nacre_nbits_group(end - i, l->most);
        const float *const a = g->a + (l->first + i) * g->w.k;
        uint8_t *const x = l->x + i * l->each;
        if (g->rounded != NULL) {
            g->rounded->round(&g->w, &g->panels, rows, a, x);
        } else {
            panels_turn(g, rows, a, (float *)(void *)x);
        }
    }
}

static void panels_column_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const panels_rows *const l = job;
    const nbits_product *const g = l->g;
    const size_t lanes = g->panels.lanes, j0 = chunk * l->columns, end = nacre_min(g->w.n, j0 + l->columns);
    float *const c = g->c + l->first * g->w.n;
    for (size_t j = j0; j < end; j += lanes) {
        const size_t n = nacre_min(lanes, end - j);
        const uint8_t *const panel = g->w.codes + j / lanes * g->panels.bytes;
        for (size_t i = 0, rows; i < l->rows; i += rows) {
            rows = nacre_nbits_group(l->rows - i, l->most);
            const uint8_t *const x = l->x + i * l->each;
            float *const y = c + i * g->w.n + j;
            if (g->rounded != NULL) {
                g->rounded->dot(&g->w, &g->panels, rows, x, panel, n, y, g->w.n);
            } else {
                g->impl->sums(&g->w, &g->panels, rows, (const float *)(const void *)x, panel, n, y, g->w.n);
            }
        }
    }
    nbits_add_bias(g, l->rows, j0, end - j0, c);
}

static void panels_run(const nbits_product *g, nacre_team *team, void *scratch) {
    panels_rows l = panels_rows_of(g, scratch);
    for (; l.first < g->m && !nacre_stopped(team); l.first += l.rows) {
        l.rows = nacre_min(l.rows, g->m - l.first);
        nacre_parallel(team, nacre_ceil_div(l.rows, l.most), panels_row_chunk, &l);
        nacre_parallel(team, nacre_ceil_div(g->w.n, l.columns), panels_column_chunk, &l);
    }
}

static size_t panels_scratch(const nbits_product *g) {
    const panels_rows l = panels_rows_of(g, NULL);
    return l.rows * l.each;
}

// ---- packing ----

enum { CODES = 1, SCALES = 2, ZEROS = 3 };  // operands

static size_t panels_packed(const nbits_product *g, size_t operand) {
    if (operand != CODES || !nbits_packable(g)) return 0;
    return nacre_ceil_div(g->w.n, g->panels.lanes) * g->panels.bytes;
}

static void panels_pack(const nacre_nbits *w, size_t lanes, size_t operand, const void *src, void *dst) {
    switch (operand) {
    case CODES: nacre_nbits_pack_codes(w, lanes, src, dst); break;
    case SCALES: nacre_nbits_pack_scales(w, lanes, src, dst); break;
    case ZEROS: nacre_nbits_pack_zeros(w, lanes, src, dst); break;
    }
}

// ---- commands ----

static void f32_gemv_command(const nacre_call *c) {
    nbits_product g = nbits_f32(c->kernel, c->words);
    if (nbits_operands(&g, c)) panels_run(&g, c->team, c->scratch);
}

static int f32_gemv_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_f32(kernel, words);
    return g.packed && g.m <= PANELS_FEW;
}

static size_t f32_gemv_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const nbits_product g = nbits_f32(kernel, words);
    return panels_scratch(&g);
}

static void f32_gemm_command(const nacre_call *c) {
    nbits_product g = nbits_f32(c->kernel, c->words);
    if (nbits_operands(&g, c)) nbits_gemm_run(&g, c->team, c->scratch);
}

// A panel of the product of floats is whole panels of codes.
static int f32_gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_f32(kernel, words);
    return g.packed && g.gemm->nr % g.panels.lanes == 0 && nbits_gemm_fits(&g);
}

static size_t f32_gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const nbits_product g = nbits_f32(kernel, words);
    return nbits_gemm_scratch(&g, threads);
}

static size_t f32_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    const nbits_product g = nbits_f32(kernel, words);
    return panels_packed(&g, operand);
}

static void f32_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    const nbits_product g = nbits_f32(kernel, words);
    panels_pack(&g.w, g.panels.lanes, operand, src, dst);
}

static size_t f32_panel(const nacre_kernel *kernel) { return ((nacre_f32_nbits_fn *)kernel->fn)()->lanes; }

static void i8_command(const nacre_call *c) {
    nbits_product g = nbits_i8(c->kernel, c->words);
    if (nbits_operands(&g, c)) panels_run(&g, c->team, c->scratch);
}

static int i8_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    return nbits_said(words).packed;
}

static size_t i8_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const nbits_product g = nbits_i8(kernel, words);
    return panels_scratch(&g);
}

static size_t i8_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    const nbits_product g = nbits_i8(kernel, words);
    return panels_packed(&g, operand);
}

static void i8_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    const nbits_product g = nbits_i8(kernel, words);
    panels_pack(&g.w, g.panels.lanes, operand, src, dst);
}

static size_t i8_panel(const nacre_kernel *kernel) { return ((nacre_i8_nbits_fn *)kernel->fn)()->lanes; }

const nacre_entry nacre_nbits_panels_gemv_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = f32_gemv_command, .fits = f32_gemv_fits, .scratch = f32_gemv_scratch,
    .packed = f32_packed, .pack = f32_pack, .panel = f32_panel};
const nacre_entry nacre_nbits_panels_gemm_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = f32_gemm_command, .fits = f32_gemm_fits, .scratch = f32_gemm_scratch,
    .packed = f32_packed, .pack = f32_pack, .panel = f32_panel};
const nacre_entry nacre_nbits_rounded_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = i8_command, .fits = i8_fits, .scratch = i8_scratch,
    .packed = i8_packed, .pack = i8_pack, .panel = i8_panel};
