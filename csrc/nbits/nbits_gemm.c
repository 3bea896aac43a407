// Kernel rows of f32_nbits for codes as they are stored. Few rows of a are multiplied by the codes
// directly. For many rows, a product of floats decodes the codes block by block.
#include <string.h>

#include "nbits/nbits.h"

enum {
    NBITS_GEMV = 24,           // rows up to which decoding codes to floats does not pay
    NBITS_COLUMNS = 16,        // least columns of a piece of c
    NBITS_GRAIN = 1 << 17,     // least multiply-adds of a piece for a thread
    NBITS_FARTHEST = 1 << 26,  // largest bytes of a row that kernels take
    NBITS_WORDS = sizeof(nacre_nbits_words) / 8,
    NBITS_OPERANDS = 8
};

// One product.
typedef struct {
    const nacre_f32_nbits_impl *impl;
    const nacre_f32_gemm_impl *gemm;
    nacre_nbits w;
    int transposed;
    size_t m;
    const float *a;
    const float *bias;  // or NULL
    float *c;
} nbits_product;

static int nbits_regular(const nbits_product *g) {
    return !g->transposed && g->w.group == NULL && !g->w.flat && g->w.row_bytes < NBITS_FARTHEST;
}

// Returns the product of the words of a command. group and table only say whether the operands are
// given.
static nbits_product nbits_said(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_nbits_words *const w = (const void *)words;
    return (nbits_product){
        .impl = ((nacre_f32_nbits_fn *)kernel->fn)(),
        .gemm = nacre_f32_gemm_part(w->gemm),
        .w = {.n = (size_t)w->n, .k = (size_t)w->k, .bits = (size_t)w->bits, .block = (size_t)w->block, .high_first = w->high_first != 0,
              .row_bytes = (size_t)w->row_bytes, .type = (nacre_dtype)w->type, .row_scales = (size_t)w->row_scales,
              .from = (nacre_nbits_zeros)w->from, .flat = w->flat != 0,
              .group = w->group == 0 ? NULL : (const void *)words, .table = w->table == 0 ? NULL : (const void *)words},
        .transposed = w->transposed != 0,
        .m = (size_t)w->m,
    };
}

// Sets the operands. It reports whether all groups are in range.
static int nbits_operands(nbits_product *g, const nacre_call *c) {
    g->a = nacre_operand(c, 0);
    g->w.codes = nacre_operand(c, 1);
    g->w.scales = nacre_operand(c, 2);
    g->w.zeros = nacre_operand(c, 3);
    g->w.table = nacre_operand(c, 4);
    g->w.group = nacre_operand(c, 5);
    g->bias = nacre_operand(c, 6);
    g->c = nacre_operand(c, 7);
    for (size_t p = 0; g->w.group != NULL && p < g->w.k; p++) {
        if (g->w.group[p] >= 0 && (size_t)g->w.group[p] < g->w.row_scales) continue;
        nacre_fail(c, NACRE_FAILED_group, (int64_t)p, g->w.group[p], (int64_t)g->w.row_scales, 0);
        return 0;
    }
    return 1;
}

// Adds the bias to n columns of c from column j0 on.
static void nbits_add_bias(const nbits_product *g, size_t j0, size_t n, float *c) {
    for (size_t i = 0; g->bias != NULL && i < g->m; i++) {
        NACRE_SIMD for (size_t j = j0; j < j0 + n; j++) c[i * g->w.n + j] += g->bias[j];
    }
}

// ---- tiles ----

static void nbits_panels(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    (void)index;
    const nbits_product *const g = source;
    const size_t nr = g->gemm->nr;
    for (size_t j = 0; j < n; j += nr, dst += nr * k) {
        const size_t lanes = nacre_min(nr, n - j);
        if (nbits_regular(g)) {
            g->impl->panel(&g->w, k0, k, j0 + j, lanes, nr, dst);
            continue;
        }
        memset(dst, 0, nr * k * sizeof *dst);
        for (size_t p = 0; p < k; p++) {
            for (size_t l = 0; l < lanes; l++) {
                const size_t column = j0 + j + l;
                dst[p * nr + l] = g->transposed ? nacre_nbits_at(&g->w, k0 + p, column) : nacre_nbits_at(&g->w, column, k0 + p);
            }
        }
    }
}

static nacre_f32_gemm nbits_gemm(const nbits_product *g) {
    const size_t n = g->transposed ? g->w.k : g->w.n, k = g->transposed ? g->w.n : g->w.k;
    return (nacre_f32_gemm){
        .impl = g->gemm,
        .m = g->m,
        .n = n,
        .k = k,
        .a = {.data = g->a, .type = NACRE_DTYPE_f32, .row = k, .col = 1},
        .b = {.type = NACRE_DTYPE_f32},
        .make_b = nbits_panels,
        .source = g,
        .alpha = 1,
        .row_count = 1,
        .col = g->bias,
        .c = g->c,
        .c_type = NACRE_DTYPE_f32,
        .ldc = n,
    };
}

// ---- gemv ----

// The rows of a, arranged in x, and the columns of a piece.
typedef struct {
    const nbits_product *g;
    size_t columns;
    size_t each;  // floats of a row of x
    float *x;
} nbits_gemv;

static nbits_gemv nbits_gemv_of(const nbits_product *g, float *x) {
    nbits_gemv l = {.g = g, .x = x, .each = nacre_nbits_arranged(&g->w, g->impl->lanes)};
    l.columns = nacre_round_up(nacre_max(NBITS_COLUMNS, NBITS_GRAIN / nacre_max(1, g->m * g->w.k)), NBITS_COLUMNS);
    return l;
}

static void nbits_row_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nbits_gemv *const l = job;
    l->g->impl->arrange(&l->g->w, l->g->a + chunk * l->g->w.k, l->x + chunk * l->each);
}

static void nbits_column_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nbits_gemv *const l = job;
    const nbits_product *const g = l->g;
    const size_t j0 = chunk * l->columns, n = nacre_min(l->columns, g->w.n - j0);
    g->impl->dot(&g->w, l->x, g->m, j0, n, g->c + j0, g->w.n);
    nbits_add_bias(g, j0, n, g->c);
}

// ---- commands ----

static void gemv_command(const nacre_call *c) {
    nbits_product g = nbits_said(c->kernel, c->words);
    if (!nbits_operands(&g, c)) return;
    nbits_gemv l = nbits_gemv_of(&g, c->scratch);
    nacre_parallel(c->team, g.m, nbits_row_chunk, &l);
    nacre_parallel(c->team, nacre_ceil_div(g.w.n, l.columns), nbits_column_chunk, &l);
}

static int gemv_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_said(kernel, words);
    return g.m <= NBITS_GEMV && nbits_regular(&g);
}

static size_t gemv_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const nbits_product g = nbits_said(kernel, words);
    return g.m * nbits_gemv_of(&g, NULL).each * sizeof(float);
}

static void gemm_command(const nacre_call *c) {
    nbits_product g = nbits_said(c->kernel, c->words);
    if (!nbits_operands(&g, c)) return;
    const nacre_f32_gemm product = nbits_gemm(&g);
    g.gemm->path->run(&product, c->team, c->scratch);
}

static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_said(kernel, words);
    const nacre_f32_gemm product = nbits_gemm(&g);
    return g.gemm->path->fits(&product);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const nbits_product g = nbits_said(kernel, words);
    const nacre_f32_gemm product = nbits_gemm(&g);
    return g.gemm->path->scratch(&product, threads) * sizeof(float);
}

const nacre_entry nacre_nbits_gemv_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = gemv_command, .fits = gemv_fits, .scratch = gemv_scratch};
const nacre_entry nacre_nbits_gemm_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch};
