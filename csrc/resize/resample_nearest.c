// Command resample_nearest.
#include <string.h>

#include "resize/resize.h"

enum { NEAREST_GRAIN = 1 << 16 };  // bytes that a chunk of work should at least write

typedef struct {
    uint64_t low, high;
} nearest_pair;

#define PICK(T)                                                          \
    do {                                                                 \
        const T *const from = x;                                         \
        T *const to = y;                                                 \
        for (size_t j = 0; j < m; j++) to[j] = from[start[j]];           \
    } while (0)

void nacre_resample_nearest__scalar(const void *x, const int32_t *start, size_t m, size_t size, void *y) {
    switch (size) {
    case 1: PICK(uint8_t); break;
    case 2: PICK(uint16_t); break;
    case 4: PICK(uint32_t); break;
    case 8: PICK(uint64_t); break;
    default: PICK(nearest_pair); break;
    }
}
#undef PICK

typedef struct {
    nacre_resample_nearest_fn *pick;
    const char *x;
    const int32_t *start;
    char *y;
    size_t rows, n, m, inner, size;  // rows of the output; bytes of inner elements
    size_t per_chunk;
} nearest_job;

static void nearest_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nearest_job *const j = job;
    const size_t first = chunk * j->per_chunk, last = nacre_chunk_end(first, j->per_chunk, j->rows);
    for (size_t i = first; i < last; i++) {
        if (j->inner == j->size) {
            j->pick(j->x + i * j->n * j->size, j->start, j->m, j->size, j->y + i * j->m * j->size);
        } else {
            memcpy(j->y + i * j->inner, j->x + (i / j->m * j->n + (size_t)j->start[i % j->m]) * j->inner, j->inner);
        }
    }
}

static void nearest_command(const nacre_call *c) {
    const nacre_resample_nearest_words *const w = (const void *)c->words;
    nearest_job j = {(nacre_resample_nearest_fn *)c->kernel->fn, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), 0,
                     (size_t)w->n, (size_t)w->m, (size_t)(w->inner * w->size), (size_t)w->size, 1};
    const size_t bytes = w->inner == 1 ? j.m * j.size : j.inner;
    j.rows = (size_t)w->outer * (w->inner == 1 ? 1 : j.m);
    if (bytes < NEAREST_GRAIN) j.per_chunk = NEAREST_GRAIN / bytes;
    nacre_parallel(c->team, j.rows / j.per_chunk + (j.rows % j.per_chunk != 0), nearest_task, &j);
}

const nacre_entry nacre_resample_nearest_entry = {.words = sizeof(nacre_resample_nearest_words) / 8, .operands = 3, .run = nearest_command};
