// Kernel rows of f32_nbits for codes as they are stored. Few rows of a are multiplied by the codes
// directly. For many rows, a product of floats decodes the codes block by block.
#include <string.h>

#include "nbits/product.h"

enum {
    NBITS_GEMV = 24,    // rows up to which decoding codes to floats does not pay
    NBITS_COLUMNS = 16  // least columns of a piece of c
};

// ---- tiles ----

// Decodes one panel of the product of floats from packed codes.
static void nbits_unpack(const nbits_product *g, size_t k0, size_t k, size_t j0, float *dst) {
    const size_t lanes = g->panels.lanes, nr = g->gemm->nr;
    for (size_t l = 0; l < nr; l += lanes) {
        if (j0 + l < g->w.n) {
            g->impl->decode(&g->w, &g->panels, g->w.codes + (j0 + l) / lanes * g->panels.bytes, k0, k, nr, dst + l);
        } else {
            for (size_t p = 0; p < k; p++) memset(dst + p * nr + l, 0, lanes * sizeof *dst);
        }
    }
}

static void nbits_panels(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    (void)index;
    const nbits_product *const g = source;
    const size_t nr = g->gemm->nr;
    for (size_t j = 0; j < n; j += nr, dst += nr * k) {
        const size_t lanes = nacre_min(nr, n - j);
        if (g->packed) {
            nbits_unpack(g, k0, k, j0 + j, dst);
            continue;
        }
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

void nbits_gemm_run(const nbits_product *g, nacre_team *team, void *scratch) {
    const nacre_f32_gemm product = nbits_gemm(g);
    g->gemm->path->run(&product, team, scratch);
}

int nbits_gemm_fits(const nbits_product *g) {
    const nacre_f32_gemm product = nbits_gemm(g);
    return g->gemm->path->fits(&product);
}

size_t nbits_gemm_scratch(const nbits_product *g, size_t threads) {
    const nacre_f32_gemm product = nbits_gemm(g);
    return g->gemm->path->scratch(&product, threads) * sizeof(float);
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
    nbits_add_bias(g, g->m, j0, n, g->c);
}

// ---- commands ----

static void gemv_command(const nacre_call *c) {
    nbits_product g = nbits_f32(c->kernel, c->words);
    if (!nbits_operands(&g, c)) return;
    nbits_gemv l = nbits_gemv_of(&g, c->scratch);
    nacre_parallel(c->team, g.m, nbits_row_chunk, &l);
    nacre_parallel(c->team, nacre_ceil_div(g.w.n, l.columns), nbits_column_chunk, &l);
}

static int gemv_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_f32(kernel, words);
    return !g.packed && g.m <= NBITS_GEMV && nbits_regular(&g);
}

static size_t gemv_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const nbits_product g = nbits_f32(kernel, words);
    return g.m * nbits_gemv_of(&g, NULL).each * sizeof(float);
}

static void gemm_command(const nacre_call *c) {
    nbits_product g = nbits_f32(c->kernel, c->words);
    if (nbits_operands(&g, c)) nbits_gemm_run(&g, c->team, c->scratch);
}

static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nbits_product g = nbits_f32(kernel, words);
    return !g.packed && nbits_gemm_fits(&g);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const nbits_product g = nbits_f32(kernel, words);
    return nbits_gemm_scratch(&g, threads);
}

const nacre_entry nacre_nbits_gemv_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = gemv_command, .fits = gemv_fits, .scratch = gemv_scratch};
const nacre_entry nacre_nbits_gemm_entry = {
    .words = NBITS_WORDS, .operands = NBITS_OPERANDS, .run = gemm_command, .fits = gemm_fits, .scratch = gemm_scratch};
