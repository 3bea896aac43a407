// Drivers of f32_nbits and i8_nbits: few rows are multiplied by codes as they lie; for
// many, the floats that codes stand for are made block by block within a product of
// floats. Rounded rows are multiplied by codes as they lie however many there are.
#include "nbits/nbits.h"

#include <string.h>

enum {
    NBITS_LINES = 24,         // rows that are worth less than making floats of codes
    NBITS_GRAIN = 1 << 17,    // multiply-adds that are worth a thread's attention
    NBITS_COLUMNS = 16,       // of a piece of c, at least
    NBITS_PANEL = 128,        // rounded rows at a time
    NBITS_FARTHEST = 1 << 26  // bytes of a row that kernels take
};

static size_t nbits_least(size_t a, size_t b) { return a < b ? a : b; }
static size_t nbits_most(size_t a, size_t b) { return a > b ? a : b; }
static size_t nbits_parts(size_t n, size_t size) { return (n + size - 1) / size; }

static int nbits_regular(const nacre_nbits_gemm *g) {
    return !g->turned && g->w.group == NULL && !g->w.flat && g->w.row_bytes < NBITS_FARTHEST;
}

static int nbits_rounded(const nacre_nbits_gemm *g) {
    return g->rounded != NULL && nbits_regular(g) && g->w.table == NULL && !g->w.high_first;
}

static int nbits_by_lines(const nacre_nbits_gemm *g) { return g->m <= NBITS_LINES && nbits_regular(g); }

// ---- tiles ----

static void nbits_panels(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    (void)index;
    const nacre_nbits_gemm *const g = source;
    const size_t nr = g->gemm->nr;
    for (size_t j = 0; j < n; j += nr, dst += nr * k) {
        const size_t lanes = nbits_least(nr, n - j);
        if (nbits_regular(g)) {
            g->impl->panel(&g->w, k0, k, j0 + j, lanes, nr, dst);
            continue;
        }
        memset(dst, 0, nr * k * sizeof *dst);
        for (size_t p = 0; p < k; p++) {
            for (size_t l = 0; l < lanes; l++) {
                const size_t column = j0 + j + l;
                dst[p * nr + l] = g->turned ? nacre_nbits_at(&g->w, k0 + p, column) : nacre_nbits_at(&g->w, column, k0 + p);
            }
        }
    }
}

static nacre_f32_gemm nbits_product(const nacre_nbits_gemm *g) {
    const size_t n = g->turned ? g->w.k : g->w.n, k = g->turned ? g->w.n : g->w.k;
    return (nacre_f32_gemm){
        .impl = g->gemm,
        .m = g->m,
        .n = n,
        .k = k,
        .a = {.data = g->a, .row = k, .col = 1},
        .make_b = nbits_panels,
        .source = g,
        .alpha = 1,
        .row_count = 1,
        .col = g->bias,
        .c = g->c,
        .ldc = n,
    };
}

// ---- lines ----

// Rows from first on, as x has them, and the columns of a piece.
typedef struct {
    const nacre_nbits_gemm *g;
    size_t first, rows, columns;
    size_t each;  // floats of a row of x
    float *x;
} nbits_lines;

static nbits_lines nbits_lines_of(const nacre_nbits_gemm *g, float *x) {
    nbits_lines l = {.g = g, .rows = g->m, .x = x};
    l.each = nbits_rounded(g) ? nacre_nbits_round_bytes(&g->w, g->rounded->lanes) / sizeof *x : nacre_nbits_arranged(&g->w, g->impl->lanes);
    if (nbits_rounded(g)) l.rows = nbits_least(l.rows, NBITS_PANEL);
    l.columns = nbits_parts(nbits_most(NBITS_COLUMNS, NBITS_GRAIN / nbits_most(1, l.rows * g->w.k)), NBITS_COLUMNS) * NBITS_COLUMNS;
    return l;
}

static void nbits_row_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nbits_lines *const l = job;
    const float *const a = l->g->a + (l->first + chunk) * l->g->w.k;
    if (nbits_rounded(l->g)) {
        nacre_nbits_round(&l->g->w, l->g->rounded->lanes, a, (uint8_t *)(l->x + chunk * l->each));
    } else {
        l->g->impl->arrange(&l->g->w, a, l->x + chunk * l->each);
    }
}

static void nbits_column_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nbits_lines *const l = job;
    const nacre_nbits_gemm *const g = l->g;
    const size_t j0 = chunk * l->columns, n = nbits_least(l->columns, g->w.n - j0);
    float *const c = g->c + l->first * g->w.n;
    if (nbits_rounded(g)) {
        g->rounded->dot(&g->w, (const uint8_t *)l->x, l->rows, j0, n, c + j0, g->w.n);
    } else {
        g->impl->dot(&g->w, l->x, l->rows, j0, n, c + j0, g->w.n);
    }
    for (size_t i = 0; g->bias != NULL && i < l->rows; i++) {
        for (size_t j = j0; j < j0 + n; j++) c[i * g->w.n + j] += g->bias[j];
    }
}

size_t nacre_nbits_gemm_scratch(const nacre_nbits_gemm *g, size_t threads) {
    if (nbits_rounded(g) || nbits_by_lines(g)) {
        const nbits_lines l = nbits_lines_of(g, NULL);
        return l.rows * l.each;
    }
    const nacre_f32_gemm product = nbits_product(g);
    return nacre_f32_gemm_scratch(&product, threads);
}

void nacre_nbits_gemm_run(const nacre_nbits_gemm *g, nacre_team *team, float *scratch) {
    if (!nbits_rounded(g) && !nbits_by_lines(g)) {
        const nacre_f32_gemm product = nbits_product(g);
        nacre_f32_gemm_run(&product, team, scratch);
        return;
    }
    nbits_lines l = nbits_lines_of(g, scratch);
    for (; l.first < g->m; l.first += l.rows) {
        l.rows = nbits_least(l.rows, g->m - l.first);
        nacre_parallel(team, l.rows, nbits_row_chunk, &l);
        nacre_parallel(team, nbits_parts(g->w.n, l.columns), nbits_column_chunk, &l);
    }
}
