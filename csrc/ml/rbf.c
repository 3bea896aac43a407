// Command f32_rbf.
#include "ml/ml.h"

enum {
    RBF_GRAIN = 1 << 17,    // subtractions of a chunk, about
    RBF_NUMBERS = 6 << 10,  // floats of packed vectors that stay in the first-level cache
    RBF_COLUMNS = 64,       // fewest vectors compared at a time; their number is a multiple of it
};

typedef struct {
    nacre_f32_rbf_fn *kernel;
    const float *x, *v;
    size_t rows, k, n, stride;
    nacre_rbf_function function;
    float gamma;
    float *y;
    size_t rows_per, columns_per, blocks;  // of a chunk; blocks: chunks of columns
    size_t columns_at_once;                // a multiple of NACRE_ML_PAD
} rbf_job;

static size_t rbf_stride(size_t n) { return nacre_round_up(n, NACRE_ML_PAD); }

static void rbf_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rbf_job *const j = job;
    const size_t left = chunk % j->blocks * j->columns_per, right = nacre_chunk_end(left, j->columns_per, j->n);
    const size_t first = chunk / j->blocks * j->rows_per, last = nacre_chunk_end(first, j->rows_per, j->rows);
    for (size_t at = left, n; at < right; at += n) {
        n = nacre_min(j->columns_at_once, right - at);
        for (size_t r = first; r < last; r++) {
            const float *const x = j->x + r * j->k, *const v = j->v + at;
            j->kernel(x, v, n, j->stride, j->k, j->function, j->gamma, j->y + r * j->n + at);
        }
    }
}

typedef struct {
    const float *v;
    size_t k, n, stride, rows_per;
    float *to;
} pack_job;

// pack_task transposes rows_per rows of the packed vectors.
static void pack_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const pack_job *const j = job;
    const size_t first = chunk * j->rows_per, last = nacre_chunk_end(first, j->rows_per, j->k);
    for (size_t p = 0; p < j->stride; p += NACRE_ML_PAD) {
        const size_t n = nacre_min(NACRE_ML_PAD, j->n - p);
        for (size_t i = first; i < last; i++) {
            float *const to = j->to + i * j->stride + p;
            for (size_t l = 0; l < NACRE_ML_PAD; l++) to[l] = l < n ? j->v[(p + l) * j->k + i] : 0;
        }
    }
}

static void rbf_run(const nacre_call *c) {
    const nacre_f32_rbf_words *const w = (const void *)c->words;
    rbf_job j = {.kernel = (nacre_f32_rbf_fn *)c->kernel->fn, .x = nacre_operand(c, 0), .v = nacre_operand(c, 1),
                 .rows = (size_t)w->rows, .k = (size_t)w->k, .n = (size_t)w->n, .stride = rbf_stride((size_t)w->n),
                 .function = (nacre_rbf_function)w->function, .gamma = (float)w->gamma, .y = nacre_operand(c, 2)};
    if (j.rows == 0 || j.n == 0) return;
    if (w->packed == 0) {
        pack_job p = {.v = j.v, .k = j.k, .n = j.n, .stride = j.stride, .rows_per = 1 + RBF_GRAIN / j.stride,
                      .to = c->scratch};
        nacre_parallel(c->team, nacre_ceil_div(p.k, p.rows_per), pack_task, &p);
        j.v = p.to;
    }
    j.columns_per = rbf_stride(RBF_GRAIN / (j.k + 1) + 1);
    j.columns_at_once = nacre_max(RBF_COLUMNS, RBF_NUMBERS / (j.k + 1) / RBF_COLUMNS * RBF_COLUMNS);
    j.blocks = nacre_ceil_div(j.n, j.columns_per);
    j.rows_per = j.blocks > 1 ? 1 : 1 + RBF_GRAIN / (j.n * (j.k + 1));
    nacre_parallel(c->team, nacre_ceil_div(j.rows, j.rows_per) * j.blocks, rbf_task, &j);
}

static size_t rbf_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    (void)k;
    const nacre_f32_rbf_words *const w = (const void *)words;
    return operand == 1 ? (size_t)w->k * rbf_stride((size_t)w->n) * sizeof(float) : 0;
}

static void rbf_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)kernel;
    (void)operand;
    const nacre_f32_rbf_words *const w = (const void *)words;
    const size_t k = (size_t)w->k, n = (size_t)w->n;
    pack_job p = {.v = src, .k = k, .n = n, .stride = rbf_stride(n), .rows_per = k, .to = dst};
    pack_task(&p, 0, 0);
}

static size_t rbf_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)threads;
    const nacre_f32_rbf_words *const w = (const void *)words;
    return w->packed ? 0 : rbf_packed(k, words, 1);
}

const nacre_entry nacre_f32_rbf_entry = {
    .words = sizeof(nacre_f32_rbf_words) / 8, .operands = 3, .run = rbf_run, .packed = rbf_packed, .pack = rbf_pack,
    .scratch = rbf_scratch,
};
