// Ops <type>_range: the command and the scalar variants.
#include "copy/copy.h"

enum { RANGE_CHUNK = 16 << 10 };

typedef struct {
    nacre_range_fn *fill;
    const void *start, *delta;
    char *y;
    size_t n, width;
} range_job;

static void range_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const range_job *const j = arg;
    const size_t first = chunk * RANGE_CHUNK, end = nacre_chunk_end(first, RANGE_CHUNK, j->n);
    j->fill(j->start, j->delta, first, end - first, j->y + first * j->width);
}

static void range_run(const nacre_call *c) {
    const nacre_range_words *const w = (const void *)c->words;
    range_job j = {(nacre_range_fn *)c->kernel->fn, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2),
                   (size_t)w->n, (size_t)w->width};
    nacre_parallel(c->team, nacre_ceil_div(j.n, RANGE_CHUNK), range_task, &j);
}

const nacre_entry nacre_range_entry = {.words = sizeof(nacre_range_words) / 8, .operands = 3, .run = range_run};

#define RANGE(name, T, U)                                                                          \
    void name(const void *start, const void *delta, size_t first, size_t n, void *y) {             \
        const U from = (U)*(const T *)start, step = (U)*(const T *)delta;                          \
        for (size_t i = 0; i < n; i++) ((T *)y)[i] = (T)(from + (U)(first + i) * step);            \
    }

RANGE(nacre_i16_range__scalar, uint16_t, uint64_t)
RANGE(nacre_i32_range__scalar, uint32_t, uint64_t)
RANGE(nacre_i64_range__scalar, uint64_t, uint64_t)
RANGE(nacre_f32_range__scalar, float, float)
RANGE(nacre_f64_range__scalar, double, double)
