// Command resample_nearest and its oracle.
#include <string.h>

#include "resize/resize.h"

enum { NEAREST_GRAIN = 1 << 16 };  // bytes that a chunk writes, at least

void nacre_resample_nearest__scalar(const void *x, const int32_t *start, size_t m, size_t size, size_t repeat,
        void *y) {
    (void)repeat;
    for (size_t j = 0; j < m; j++) memcpy((char *)y + j * size, (const char *)x + (size_t)start[j] * size, size);
}

typedef struct {
    nacre_resample_nearest_fn *pick;
    const char *x;
    const int32_t *start[2];
    char *y;
    size_t rows, n[2], m[2], inner, size, repeat;  // rows of the output; bytes per inner elements
    size_t per_chunk;
} nearest_job;

static void nearest_row(const nearest_job *j, const char *from, char *to) {
    if (j->repeat == 1) {
        memcpy(to, from, j->m[1] * j->inner);
    } else if (j->inner == j->size) {
        j->pick(from, j->start[1], j->m[1], j->size, j->repeat, to);
    } else {
        for (size_t c = 0; c < j->m[1]; c++) {
            memcpy(to + c * j->inner, from + (size_t)j->start[1][c] * j->inner, j->inner);
        }
    }
}

// nearest_task computes a chunk of output rows. If a row reads the same input row as the row
// before, it copies the row before.
static void nearest_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const nearest_job *const j = job;
    const size_t first = chunk * j->per_chunk, last = nacre_chunk_end(first, j->per_chunk, j->rows);
    const size_t bytes = j->m[1] * j->inner, row = j->n[1] * j->inner;
    size_t k = first % j->m[0];
    const char *x = j->x + first / j->m[0] * j->n[0] * row, *was = NULL;
    char *to = j->y + first * bytes;
    for (size_t i = first; i < last; i++, to += bytes) {
        const char *const from = x + (size_t)j->start[0][k] * row;
        if (from == was) {
            memcpy(to, to - bytes, bytes);
        } else {
            nearest_row(j, from, to);
        }
        was = from;
        if (++k < j->m[0]) continue;
        k = 0;
        x += j->n[0] * row;
    }
}

static void nearest_command(const nacre_call *c) {
    const nacre_resample_nearest_words *const w = (const void *)c->words;
    nearest_job j = {.pick = (nacre_resample_nearest_fn *)c->kernel->fn, .x = nacre_operand(c, 0),
                     .start = {nacre_operand(c, 1), nacre_operand(c, 2)}, .y = nacre_operand(c, 3),
                     .n = {(size_t)w->n[0], (size_t)w->n[1]}, .m = {(size_t)w->m[0], (size_t)w->m[1]},
                     .inner = (size_t)(w->inner * w->size), .size = (size_t)w->size, .repeat = (size_t)w->repeat,
                     .per_chunk = 1};
    const size_t bytes = j.m[1] * j.inner;
    j.rows = (size_t)w->outer * j.m[0];
    if (bytes < NEAREST_GRAIN) j.per_chunk = NEAREST_GRAIN / bytes;
    nacre_parallel(c->team, nacre_ceil_div(j.rows, j.per_chunk), nearest_task, &j);
}

const nacre_entry nacre_resample_nearest_entry = {.words = sizeof(nacre_resample_nearest_words) / 8, .operands = 4,
        .run = nearest_command};
