// Kernel rows of f32_blocks and unpack_blocks.
#include "blocks/blocks.h"

#include "core/simd.h"

enum {
    BLOCKS_GRAIN = 1 << 16,   // least multiply-adds of a piece for a thread
    BLOCKS_COLUMNS = 4,       // columns of a piece of c are a multiple
    BLOCKS_PANEL = 64,        // the most columns of a panel
    BLOCKS_UNPACKED = 1 << 16  // elements of a piece of unpack_blocks
};

static const struct {
    size_t elements, bytes;
} block_sizes[] = {
#define NACRE_BLOCK_TYPE(name, elements, bytes) {elements, bytes},
#include "blocks/types.inc"
#undef NACRE_BLOCK_TYPE
};

// One product.
typedef struct {
    const nacre_f32_blocks_impl *impl;
    const nacre_f32_gemm_impl *gemm;
    nacre_blocks w;
    size_t m;
    float alpha;
    const float *a;
    const float *bias;  // or NULL
    float *c;
} blocks_product;

static blocks_product blocks_said(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_f32_blocks_words *const w = (const void *)words;
    blocks_product g = {
        .impl = ((nacre_f32_blocks_fn *)kernel->fn)(),
        .gemm = nacre_f32_gemm_part(w->gemm),
        .w = {.n = (size_t)w->n, .k = (size_t)w->k, .elements = block_sizes[w->type].elements, .bytes = block_sizes[w->type].bytes},
        .m = (size_t)w->m,
        .alpha = (float)w->alpha,
    };
    g.w.row_bytes = g.w.k / g.w.elements * g.w.bytes;
    g.w.unpack = g.impl->unpack[w->type];
    return g;
}

static void blocks_operands(blocks_product *g, const nacre_call *c) {
    g->a = nacre_operand(c, 0);
    g->w.data = nacre_operand(c, 1);
    g->w.book = nacre_operand(c, 2);
    g->bias = nacre_operand(c, 3);
    g->c = nacre_operand(c, 4);
}

// ---- many rows ----

// Writes a panel of nr columns, n of them from column j0 of the product on. Blocks that begin before
// k0 or end after k0+k are unpacked whole.
static void blocks_panel(const blocks_product *g, size_t k0, size_t k, size_t j0, size_t n, size_t nr, float *dst) {
    const nacre_blocks *const w = &g->w;
    float columns[BLOCKS_PANEL * NACRE_BLOCKS_ELEMENTS];
    const nacre_half *const half = g->gemm->half();
    for (size_t p = k0; p < k0 + k;) {
        const size_t block = p / w->elements, skip = p % w->elements, count = nacre_min(w->elements - skip, k0 + k - p);
        for (size_t l = 0; l < n; l++) {
            w->unpack(w->data + (j0 + l) * w->row_bytes + block * w->bytes, 1, w->book, columns + l * NACRE_BLOCKS_ELEMENTS);
        }
        g->gemm->driver->pack_panel(half, count, n, columns + skip, NACRE_DTYPE_f32, NACRE_BLOCKS_ELEMENTS, 1, nr, dst + (p - k0) * nr);
        p += count;
    }
}

static void blocks_panels(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    (void)index;
    const blocks_product *const g = source;
    const size_t nr = g->gemm->nr;
    for (size_t j = 0; j < n; j += nr, dst += nr * k) blocks_panel(g, k0, k, j0 + j, nacre_min(nr, n - j), nr, dst);
}

static nacre_f32_gemm blocks_gemm(const blocks_product *g) {
    return (nacre_f32_gemm){
        .impl = g->gemm,
        .m = g->m,
        .n = g->w.n,
        .k = g->w.k,
        .a = {.data = g->a, .type = NACRE_DTYPE_f32, .row = g->w.k, .col = 1},
        .b = {.type = NACRE_DTYPE_f32},
        .make_b = blocks_panels,
        .source = g,
        .alpha = g->alpha,
        .row_count = 1,
        .col = g->bias,
        .c = g->c,
        .c_type = NACRE_DTYPE_f32,
        .ldc = g->w.n,
    };
}

static void gemm_command(const nacre_call *c) {
    blocks_product g = blocks_said(c->kernel, c->words);
    blocks_operands(&g, c);
    const nacre_f32_gemm product = blocks_gemm(&g);
    g.gemm->path->run(&product, c->team, c->scratch);
}

static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    const blocks_product g = blocks_said(kernel, words);
    const nacre_f32_gemm product = blocks_gemm(&g);
    return g.gemm->nr <= BLOCKS_PANEL && g.gemm->path->fits(&product);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const blocks_product g = blocks_said(kernel, words);
    const nacre_f32_gemm product = blocks_gemm(&g);
    return g.gemm->path->scratch(&product, threads) * sizeof(float);
}

// ---- few rows ----

static size_t blocks_columns(const blocks_product *g) {
    const size_t least = BLOCKS_GRAIN / nacre_max(1, g->m * g->w.k);
    return nacre_round_up(nacre_max(BLOCKS_COLUMNS, least), BLOCKS_COLUMNS);
}

static void blocks_column_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const blocks_product *const g = job;
    const size_t columns = blocks_columns(g), j0 = chunk * columns, n = nacre_min(columns, g->w.n - j0);
    g->impl->dot(&g->w, g->a, g->m, j0, n, g->c + j0, g->w.n);
    for (size_t i = 0; i < g->m; i++) {
        float *const c = g->c + i * g->w.n + j0;
        if (g->alpha != 1) {
            NACRE_SIMD for (size_t j = 0; j < n; j++) c[j] *= g->alpha;
        }
        if (g->bias != NULL) {
            NACRE_SIMD for (size_t j = 0; j < n; j++) c[j] += g->bias[j0 + j];
        }
    }
}

static void gemv_command(const nacre_call *c) {
    blocks_product g = blocks_said(c->kernel, c->words);
    blocks_operands(&g, c);
    nacre_parallel(c->team, nacre_ceil_div(g.w.n, blocks_columns(&g)), blocks_column_chunk, &g);
}

static int gemv_fits(const nacre_kernel *kernel, const int64_t *words) { return blocks_said(kernel, words).m <= NACRE_BLOCKS_ROWS; }

// ---- unpack_blocks ----

typedef struct {
    nacre_blocks w;
    size_t each, count;  // blocks of a piece, and all
    float *y;
} blocks_unpacking;

static void unpack_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const blocks_unpacking *const u = job;
    const size_t at = chunk * u->each;
    u->w.unpack(u->w.data + at * u->w.bytes, nacre_min(u->each, u->count - at), u->w.book, u->y + at * u->w.elements);
}

static void unpack_command(const nacre_call *c) {
    const nacre_unpack_blocks_words *const w = (const void *)c->words;
    blocks_unpacking u = {
        .w = {.elements = block_sizes[w->type].elements, .bytes = block_sizes[w->type].bytes, .data = nacre_operand(c, 0), .book = nacre_operand(c, 1),
              .unpack = ((nacre_f32_blocks_fn *)c->kernel->fn)()->unpack[w->type]},
        .count = (size_t)w->n / block_sizes[w->type].elements,
        .y = nacre_operand(c, 2),
    };
    u.each = BLOCKS_UNPACKED / u.w.elements;
    nacre_parallel(c->team, nacre_ceil_div(u.count, u.each), unpack_chunk, &u);
}

enum { BLOCKS_WORDS = sizeof(nacre_f32_blocks_words) / 8, BLOCKS_OPERANDS = 5 };

const nacre_entry nacre_blocks_gemv_entry = {.words = BLOCKS_WORDS, .operands = BLOCKS_OPERANDS, .run = gemv_command, .fits = gemv_fits};
const nacre_entry nacre_blocks_gemm_entry = {
    .words = BLOCKS_WORDS, .operands = BLOCKS_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch};
const nacre_entry nacre_blocks_unpack_entry = {.words = sizeof(nacre_unpack_blocks_words) / 8, .operands = 3, .run = unpack_command};
