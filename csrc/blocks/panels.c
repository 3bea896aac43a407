// Kernel rows of f32_block_panels and i8_block_panels. Slabs of a panel are unpacked to the first
// cache, where they are multiplied by all rows. A single row is multiplied by codes that stay in
// registers. For many rows that are not rounded, a product of floats (matmul/matmul.h) decodes panels
// block by block.
#include "blocks/forms.h"
#include "core/simd.h"
#include "core/vec.h"

enum {
    PANELS_GRAIN = 1 << 17,  // least multiply-adds of a piece for a thread
    PANELS_FEW = 24,         // rows up to which decoding panels to memory does not pay
    PANELS_ROWS = 144,       // rows at a time, a multiple of every group: second-level cache
    PANELS_WORDS = sizeof(nacre_block_panels_words) / 8,
    PANELS_OPERANDS = 6
};

// One product.
typedef struct {
    const nacre_block_panels_impl *impl;
    const nacre_f32_gemm_impl *gemm;
    nacre_block_form form, last;  // of whole slabs, and of the last one
    size_t type, m, n, k;
    size_t whole;        // slabs of a panel
    size_t panel, slab;  // bytes
    const float *a;
    const uint8_t *w;
    const float *bias;  // or NULL
    float *c;
} panels_product;

// Returns the form of codes.
static nacre_block_form panels_codes(const nacre_block_panels_words *w) {
    const size_t block = (size_t)w->block, depth = nacre_min(nacre_max(block, NACRE_BLOCKS_ELEMENTS), NACRE_BLOCKS_DEPTH);
    return (nacre_block_form){
        .low = (uint8_t)w->bits,
        .units = (uint8_t)(depth / NACRE_BLOCKS_UNIT),
        .group = (uint16_t)nacre_min(block, depth),
        .middle = (uint8_t)(1u << (w->bits - 1)),
        .scales = w->zeros == NACRE_ZEROS_MIDDLE ? NACRE_SCALES_FLOATS : w->zeros == NACRE_ZEROS_CODES ? NACRE_SCALES_CODES : NACRE_SCALES_POINTS,
        .floats = (nacre_dtype)w->floats,
    };
}

static panels_product panels_said(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_block_panels_words *const w = (const void *)words;
    panels_product g = {
        .impl = ((nacre_block_panels_fn *)kernel->fn)(),
        .gemm = w->gemm == 0 ? NULL : nacre_f32_gemm_part(w->gemm),
        .form = w->bits == 0 ? nacre_block_forms[w->type] : panels_codes(w),
        .type = w->bits == 0 ? (size_t)w->type : w->bits == 2 ? NACRE_PANELS_codes2 : w->bits == 4 ? NACRE_PANELS_codes4 : NACRE_PANELS_codes8,
        .m = (size_t)w->m,
        .n = (size_t)w->n,
        .k = (size_t)w->k,
    };
    g.last = nacre_block_last(&g.form, g.k);
    g.whole = g.k / nacre_block_depth(&g.form);
    g.panel = nacre_block_panel(&g.form, g.impl->lanes, g.k);
    g.slab = nacre_block_slab(&g.form, g.impl->lanes);
    return g;
}

static void panels_operands(panels_product *g, const nacre_call *c) {
    g->a = nacre_operand(c, 0);
    g->w = nacre_operand(c, 1);
    g->bias = nacre_operand(c, 4);
    g->c = nacre_operand(c, 5);
}

// Returns the bytes of a row for one slab.
static size_t panels_each(const panels_product *g, const nacre_block_form *f) {
    return f->units == 0 ? 0 : nacre_block_groups(f) * (g->impl->row_bytes * f->group + g->impl->row_tail);
}

// Returns the slabs that are unpacked at a time.
static size_t panels_step(const panels_product *g) { return nacre_max(1, NACRE_BLOCKS_ELEMENTS / nacre_block_depth(&g->form)); }

// ---- few rows, and rounded ones ----

// Rows from first on, in x as kernels read them, and the columns of a piece.
typedef struct {
    const panels_product *g;
    size_t first, rows, columns;
    size_t each;  // bytes of a row in x
    uint8_t *x;
} panels_rows;

static panels_rows panels_rows_of(const panels_product *g, void *x) {
    panels_rows l = {.g = g, .x = x};
    l.rows = nacre_min(g->m, nacre_round_up(nacre_ceil_div(g->m, nacre_max(1, nacre_ceil_div(g->m, PANELS_ROWS))), g->impl->most));
    l.each = g->whole * panels_each(g, &g->form) + panels_each(g, &g->last);
    l.columns = nacre_round_up(nacre_max(1, PANELS_GRAIN / nacre_max(1, l.rows * g->k)), g->impl->lanes);
    return l;
}

// Arranges the rows of a chunk: a group of the most rows, or groups of what is left.
static void panels_row_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const panels_rows *const l = job;
    const panels_product *const g = l->g;
    const size_t most = g->impl->most, end = nacre_min((chunk + 1) * most, l->rows), k = g->whole * nacre_block_depth(&g->form);
    for (size_t i = chunk * most, rows; i < end; i += rows) {
        rows = nacre_block_rows(end - i, most);
        const float *const a = g->a + (l->first + i) * g->k;
        uint8_t *const x = l->x + i * l->each;
        g->impl->arrange(&g->form, rows, k, g->k, a, x);
        if (k < g->k) g->impl->arrange(&g->last, rows, g->k - k, g->k, a + k, x + rows * g->whole * panels_each(g, &g->form));
    }
}

// Asks for the results of a panel. They are written far from each other.
static void panels_fetch(const panels_rows *l, size_t j) {
    for (size_t i = 0; i < l->rows; i++) __builtin_prefetch(l->g->c + (l->first + i) * l->g->n + j, 1);
}

// Stores the first n of lanes columns of all rows, with the bias.
static void panels_store(const panels_rows *l, size_t j, size_t n, const float *y) {
    const panels_product *const g = l->g;
    const float *const bias = g->bias == NULL ? nacre_none : g->bias + j;
    for (size_t i = 0; i < l->rows; i++, y += g->impl->lanes) {
        float *const c = g->c + (l->first + i) * g->n + j;
        NACRE_SIMD for (size_t v = 0; v < n; v++) c[v] = y[v] + bias[v];
    }
}

// Adds to y the products of all rows and count slabs of a form, the first of which is slab s.
static void panels_slabs(const panels_rows *l, const nacre_block_form *f, const uint8_t *slab, size_t s, size_t count, float *y) {
    const panels_product *const g = l->g;
    const size_t before = s * panels_each(g, &g->form);
    if (l->rows == 1 && g->impl->row != NULL && g->impl->row(g->type, f, count, slab, l->x + before, y)) return;
    const size_t lanes = g->impl->lanes, most = g->impl->most, step = panels_step(g), each = panels_each(g, f);
    _Alignas(64) nacre_block_slabs some;
    for (size_t at = 0; at < count; at += step) {
        const size_t n = nacre_min(step, count - at);
        g->impl->expand(f, slab + at * g->slab, n, &some);
        for (size_t i = 0, rows; i < l->rows; i += rows) {
            rows = nacre_block_rows(l->rows - i, most);
            const uint8_t *const x = l->x + i * l->each + rows * (before + at * each);
            g->impl->dot(f, &some, nacre_block_groups(f) * n, rows, x, y + i * lanes);
        }
    }
}

static void panels_column_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const panels_rows *const l = job;
    const panels_product *const g = l->g;
    const size_t lanes = g->impl->lanes, j0 = chunk * l->columns, end = nacre_min(g->n, j0 + l->columns);
    _Alignas(64) float y[PANELS_ROWS * NACRE_BLOCKS_LANES];
    for (size_t j = j0; j < end; j += lanes) {
        const uint8_t *const panel = g->w + j / lanes * g->panel;
        panels_fetch(l, j);
        memset(y, 0, l->rows * lanes * sizeof *y);
        panels_slabs(l, &g->form, panel, 0, g->whole, y);
        if (g->last.units > 0) panels_slabs(l, &g->last, panel + g->whole * g->slab, g->whole, 1, y);
        panels_store(l, j, nacre_min(lanes, end - j), y);
    }
}

static void panels_command(const nacre_call *c) {
    panels_product g = panels_said(c->kernel, c->words);
    panels_operands(&g, c);
    panels_rows l = panels_rows_of(&g, c->scratch);
    for (; l.first < g.m && !nacre_stopped(c->team); l.first += l.rows) {
        l.rows = nacre_min(l.rows, g.m - l.first);
        nacre_parallel(c->team, nacre_ceil_div(l.rows, g.impl->most), panels_row_chunk, &l);
        nacre_parallel(c->team, nacre_ceil_div(g.n, l.columns), panels_column_chunk, &l);
    }
}

static size_t panels_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const panels_product g = panels_said(kernel, words);
    const panels_rows l = panels_rows_of(&g, NULL);
    return l.rows * l.each;
}

static int gemv_fits(const nacre_kernel *kernel, const int64_t *words) { return panels_said(kernel, words).m <= PANELS_FEW; }

// ---- many rows of floats ----

// Decodes what a panel of the product of floats has of count slabs of a form. dst is for row k0 on.
static void panels_decode_slabs(const panels_product *g, const nacre_block_form *f, const uint8_t *panel, size_t s, size_t count, size_t k0,
                                size_t k, float *dst) {
    const size_t first = s * nacre_block_depth(&g->form), from = nacre_max(k0, first);
    const size_t to = nacre_min(k0 + k, first + count * nacre_block_depth(f));
    _Alignas(64) nacre_block_slabs some;
    g->impl->expand(f, panel + s * g->slab, count, &some);
    g->impl->decode(f, &some, from - first, to - from, g->gemm->nr, dst + (from - k0) * g->gemm->nr);
}

// Decodes one panel of the product of floats.
static void panels_decode(const panels_product *g, size_t k0, size_t k, size_t j, float *dst) {
    const size_t nr = g->gemm->nr, lanes = g->impl->lanes, depth = nacre_block_depth(&g->form), step = panels_step(g);
    for (size_t l = 0; l < nr; l += lanes) {
        if (j + l >= g->n) {
            for (size_t p = 0; p < k; p++) memset(dst + p * nr + l, 0, lanes * sizeof *dst);
            continue;
        }
        const uint8_t *const panel = g->w + (j + l) / lanes * g->panel;
        size_t s = k0 / depth;
        for (; s < g->whole && s * depth < k0 + k; s += nacre_min(step, g->whole - s)) {
            panels_decode_slabs(g, &g->form, panel, s, nacre_min(step, g->whole - s), k0, k, dst + l);
        }
        if (s == g->whole && s * depth < k0 + k) panels_decode_slabs(g, &g->last, panel, s, 1, k0, k, dst + l);
    }
}

static void panels_panels(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    (void)index;
    const panels_product *const g = source;
    const size_t nr = g->gemm->nr;
    for (size_t j = 0; j < n; j += nr, dst += nr * k) panels_decode(g, k0, k, j0 + j, dst);
}

static nacre_f32_gemm panels_gemm(const panels_product *g) {
    return (nacre_f32_gemm){
        .impl = g->gemm,
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .a = {.data = g->a, .type = NACRE_DTYPE_f32, .row = g->k, .col = 1},
        .b = {.type = NACRE_DTYPE_f32},
        .make_b = panels_panels,
        .source = g,
        .alpha = 1,
        .row_count = 1,
        .col = g->bias,
        .c = g->c,
        .c_type = NACRE_DTYPE_f32,
        .ldc = g->n,
    };
}

static void gemm_command(const nacre_call *c) {
    panels_product g = panels_said(c->kernel, c->words);
    panels_operands(&g, c);
    const nacre_f32_gemm product = panels_gemm(&g);
    g.gemm->path->run(&product, c->team, c->scratch);
}

// A panel of the product of floats is whole panels of blocks.
static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    const panels_product g = panels_said(kernel, words);
    const nacre_f32_gemm product = panels_gemm(&g);
    return g.gemm->nr % g.impl->lanes == 0 && g.gemm->path->fits(&product);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const panels_product g = panels_said(kernel, words);
    const nacre_f32_gemm product = panels_gemm(&g);
    return g.gemm->path->scratch(&product, threads) * sizeof(float);
}

// ---- packing ----

static size_t panels_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    const panels_product g = panels_said(kernel, words);
    if (operand != 1) return 0;
    return nacre_ceil_div(g.n, g.impl->lanes) * g.panel;
}

static void panels_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    const panels_product g = panels_said(kernel, words);
    const nacre_block_panels_words *const w = (const void *)words;
    const size_t lanes = g.impl->lanes;
    if (w->bits == 0) {
        nacre_block_pack(g.type, lanes, g.n, g.k, src, (const void *)(uintptr_t)w->book, dst);
        return;
    }
    const nacre_block_codes c = {g.n, g.k, (size_t)w->block, (size_t)w->row_bytes, (size_t)w->row_scales};
    switch (operand) {
    case 1: nacre_block_pack_codes(&g.form, &c, lanes, src, dst); break;
    case 2: nacre_block_pack_scales(&g.form, &c, lanes, src, dst); break;
    case 3: nacre_block_pack_zeros(&g.form, &c, lanes, src, dst); break;
    }
}

static size_t panels_lanes(const nacre_kernel *kernel) { return ((nacre_block_panels_fn *)kernel->fn)()->lanes; }

const nacre_entry nacre_block_panels_gemv_entry = {
    .words = PANELS_WORDS, .operands = PANELS_OPERANDS, .run = panels_command, .fits = gemv_fits, .scratch = panels_scratch,
    .packed = panels_packed, .pack = panels_pack, .panel = panels_lanes};
const nacre_entry nacre_block_panels_gemm_entry = {
    .words = PANELS_WORDS, .operands = PANELS_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch,
    .packed = panels_packed, .pack = panels_pack, .panel = panels_lanes};
const nacre_entry nacre_block_panels_rounded_entry = {
    .words = PANELS_WORDS, .operands = PANELS_OPERANDS, .run = panels_command, .scratch = panels_scratch,
    .packed = panels_packed, .pack = panels_pack, .panel = panels_lanes};
