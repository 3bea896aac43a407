// Commands f32_narrow and f64_narrow: products of tall matrices and of batches of small ones by a
// matrix of few columns. Tiles have many columns and take time to begin.
#include "matmul/narrow.h"

#include <math.h>

#include "core/numbers.h"
#include "core/simd.h"
#include "matmul/batch.h"

// Multiply-adds of a chunk of work; the largest number of columns.
enum { NARROW_GRAIN = 64 << 10, NARROW_COLUMNS = 16 };

typedef struct {
    nacre_narrow_fn *kernel;
    const nacre_f32_gemm_words *w;
    nacre_batch batch;
    size_t size;  // bytes of an element
    const char *a, *b, *col;
    char *c;
    size_t rows, blocks;  // rows of a chunk within a product, and chunks of a product
    size_t per_chunk;     // products of a chunk, if blocks is 1
} narrow_job;

// Copies n elements of b, step apart, to a row of width elements and appends zeros.
static void narrow_row(size_t size, const char *b, ptrdiff_t step, size_t n, size_t width, char *to) {
    if (size == sizeof(float)) {
        const float *const x = (const void *)b;
        float *const y = (void *)to;
        for (size_t j = 0; j < width; j++) y[j] = j < n ? x[(ptrdiff_t)j * step] : 0;
    } else {
        const double *const x = (const void *)b;
        double *const y = (void *)to;
        for (size_t j = 0; j < width; j++) y[j] = j < n ? x[(ptrdiff_t)j * step] : 0;
    }
}

// Clamps n results to low..high; a NaN stays NaN.
static void narrow_clamp(size_t size, double low, double high, size_t n, void *c) {
    if (size == sizeof(float)) {
        float *const y = c;
        const float lo = (float)low, hi = (float)high;
        NACRE_SIMD for (size_t i = 0; i < n; i++) y[i] = y[i] < lo ? lo : y[i] > hi ? hi : y[i];
    } else {
        double *const y = c;
        NACRE_SIMD for (size_t i = 0; i < n; i++) y[i] = y[i] < low ? low : y[i] > high ? high : y[i];
    }
}

static void narrow_product(const narrow_job *j, size_t product, size_t first, size_t rows) {
    _Alignas(64) char b[NACRE_NARROW_DEPTH * NARROW_COLUMNS * sizeof(double)], col[NARROW_COLUMNS * sizeof(double)];
    const nacre_f32_gemm_words *const w = j->w;
    const size_t size = j->size, n = (size_t)w->n, k = (size_t)w->k, width = nacre_narrow_width(n);
    const char *const from = j->b + nacre_batch_offset(&j->batch, 1, product) * size;
    for (size_t p = 0; p < k; p++) {
        narrow_row(size, from + p * (size_t)w->b_row * size, w->b_col, n, width, b + p * width * size);
    }
    memset(col, 0, sizeof col);
    if (j->col != NULL) memcpy(col, j->col, n * size);
    const char *const a = j->a + (nacre_batch_offset(&j->batch, 0, product) + first * (size_t)w->a_row) * size;
    char *const c = j->c + (product * (size_t)w->m + first) * n * size;
    j->kernel(a, (size_t)w->a_row, b, col, k, rows, n, c);
    if (w->clamp) narrow_clamp(size, w->low, w->high, rows * n, c);
}

static void narrow_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const narrow_job *const j = arg;
    if (j->blocks > 1) {
        const size_t first = chunk % j->blocks * j->rows;
        narrow_product(j, chunk / j->blocks, first, nacre_min(j->rows, (size_t)j->w->m - first));
        return;
    }
    const size_t last = nacre_chunk_end(chunk * j->per_chunk, j->per_chunk, nacre_batch_count(&j->batch));
    for (size_t p = chunk * j->per_chunk; p < last; p++) narrow_product(j, p, 0, (size_t)j->w->m);
}

static void narrow_start(const nacre_call *c, size_t size) {
    const nacre_f32_gemm_words *const w = (const void *)c->words;
    narrow_job j = {
        .kernel = (nacre_narrow_fn *)c->kernel->fn,
        .w = w,
        .batch = {(size_t)w->rank, w->axes},
        .size = size,
        .a = nacre_operand(c, 0),
        .b = nacre_operand(c, 1),
        .col = nacre_operand(c, 3),
        .c = nacre_operand(c, 5),
    };
    const size_t row = nacre_max(1, (size_t)w->k) * nacre_narrow_width((size_t)w->n);
    j.rows = nacre_max(1, NARROW_GRAIN / row);
    j.blocks = nacre_max(1, nacre_ceil_div((size_t)w->m, j.rows));
    j.per_chunk = nacre_max(1, NARROW_GRAIN / (row * nacre_max(1, (size_t)w->m)));
    const size_t products = nacre_batch_count(&j.batch);
    const size_t chunks = j.blocks > 1 ? products * j.blocks : nacre_ceil_div(products, j.per_chunk);
    nacre_parallel(c->team, chunks, narrow_task, &j);
}

static void f32_narrow_run(const nacre_call *c) { narrow_start(c, sizeof(float)); }
static void f64_narrow_run(const nacre_call *c) { narrow_start(c, sizeof(double)); }

static int narrow_fits(const nacre_f32_gemm_words *w, nacre_dtype type) {
    return w->a_type == type && w->b_type == type && !w->a_packed && !w->b_packed && w->a_col == 1 &&
        w->ldc == w->n && w->alpha == 1 && w->map == 0 && w->m > 1;
}

// Reports whether the product fits. Rows of two vectors, or deep products of long vectors, are
// faster in tiles.
static int f32_narrow_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_f32_gemm_words *const w = (const void *)words;
    if (!narrow_fits(w, NACRE_DTYPE_f32)) return 0;
    if (w->n == 1) return w->k <= NACRE_COLUMN_DEPTH;
    return w->n <= NARROW_COLUMNS && w->k <= (w->n <= 8 ? NACRE_NARROW_DEPTH : NACRE_NARROW_DEPTH / 2);
}

static int f64_narrow_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_f32_gemm_words *const w = (const void *)words;
    return narrow_fits(w, NACRE_DTYPE_f64) && w->n > 1 && w->n <= 8 && w->k <= NACRE_NARROW_DEPTH;
}

const nacre_entry nacre_f32_narrow_entry = {
    .words = sizeof(nacre_f32_gemm_words) / 8, .operands = 6, .run = f32_narrow_run, .fits = f32_narrow_fits,
};
const nacre_entry nacre_f64_narrow_entry = {
    .words = sizeof(nacre_f32_gemm_words) / 8, .operands = 6, .run = f64_narrow_run, .fits = f64_narrow_fits,
};
