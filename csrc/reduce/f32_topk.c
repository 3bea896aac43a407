// Op f32_topk: the k best elements of each row.
#include <string.h>

#include "reduce/reduce.h"

enum { TOPK_GRAIN = 1 << 14 };  // elements that a chunk reads, at least

void nacre_f32_topk__scalar(const float *x, size_t n, size_t k, int least, float *best, int64_t *places) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count = nacre_topk_insert(x[i], i, count, k, least, best, places);
}

typedef struct {
    nacre_f32_topk_fn *kernel;
    size_t rows, n, k, per_chunk;
    int least;
    const float *x;
    float *values;
    int64_t *places;
} topk_job;

static void topk_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const topk_job *const j = job;
    float best[NACRE_TOPK_MOST];
    int64_t places[NACRE_TOPK_MOST];
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->rows);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        j->kernel(j->x + r * j->n, j->n, j->k, j->least, best, places);
        if (j->values != NULL) memcpy(j->values + r * j->k, best, j->k * sizeof best[0]);
        if (j->places != NULL) memcpy(j->places + r * j->k, places, j->k * sizeof places[0]);
    }
}

static void topk_command(const nacre_call *c) {
    const nacre_f32_topk_words *const w = (const void *)c->words;
    topk_job j = {
        .kernel = (nacre_f32_topk_fn *)c->kernel->fn, .rows = (size_t)w->rows, .n = (size_t)w->n, .k = (size_t)w->k,
        .least = w->least != 0, .x = nacre_operand(c, 0), .values = nacre_operand(c, 1), .places = nacre_operand(c, 2),
    };
    if (j.k == 0) return;
    j.per_chunk = nacre_max(1, TOPK_GRAIN / nacre_max(j.n, 1));
    nacre_parallel(j.rows <= j.per_chunk ? NULL : c->team, nacre_ceil_div(j.rows, j.per_chunk), topk_chunk, &j);
}

static int topk_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_f32_topk_words *const w = (const void *)words;
    return w->k <= NACRE_TOPK_MOST && w->k <= w->n;
}

const nacre_entry nacre_f32_topk_entry = {.words = sizeof(nacre_f32_topk_words) / 8, .operands = 3, .run = topk_command,
                                          .fits = topk_fits};
