// Copies of regions given by an operand: triangles, reversed sequences, one-hot elements.
#include "copy/index.h"

typedef struct {
    const nacre_call *c;
    int64_t k;
    size_t per_chunk, total;
} region_job;

// ---- triangle ----

static void triangle_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const region_job *const j = arg;
    const nacre_triangle_words *const w = (const void *)j->c->words;
    const char *const x = nacre_operand(j->c, 0);
    char *const y = nacre_operand(j->c, 2);
    const size_t width = (size_t)w->width, row = (size_t)w->cols * width;
    const size_t first = chunk * j->per_chunk, end = nacre_min(first + j->per_chunk, j->total);
    for (size_t i = first; i < end; i++) {
        // Cut the row at the first element of the upper triangle, or after the last of the lower.
        const int64_t r = (int64_t)(i % (size_t)w->rows), cut = r + j->k + (w->upper ? 0 : 1);
        const size_t at = (size_t)nacre_clamp(cut, 0, w->cols) * width;
        const char *const from = x + i * row;
        char *const to = y + i * row;
        if (w->upper) {
            memset(to, 0, at);
            memcpy(to + at, from + at, row - at);
        } else {
            memcpy(to, from, at);
            memset(to + at, 0, row - at);
        }
    }
}

static void triangle_run(const nacre_call *c) {
    const nacre_triangle_words *const w = (const void *)c->words;
    const int64_t *const given = nacre_operand(c, 1);
    int64_t k = given == NULL ? 0 : *given;
    k = nacre_clamp(k, -w->rows, w->cols);
    const size_t row = (size_t)(w->cols * w->width);
    region_job j = {c, k, nacre_max(1, COPY_CHUNK_BYTES / nacre_max(row, 1)), (size_t)(w->batch * w->rows)};
    if (row == 0) return;
    nacre_parallel(c->team, nacre_ceil_div(j.total, j.per_chunk), triangle_task, &j);
}

const nacre_entry nacre_triangle_entry = {.words = sizeof(nacre_triangle_words) / 8, .operands = 3,
                                          .run = triangle_run};

// ---- reverse_sequence ----

static void reverse_sequence_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const region_job *const j = arg;
    const nacre_reverse_sequence_words *const w = (const void *)j->c->words;
    const char *const x = nacre_operand(j->c, 0);
    const void *const lengths = nacre_operand(j->c, 1);
    char *const y = nacre_operand(j->c, 2);
    const size_t block = (size_t)w->block;
    const size_t first = chunk * j->per_chunk, end = nacre_min(first + j->per_chunk, j->total);
    for (size_t i = first; i < end; i++) {
        const int64_t b = (int64_t)(i / (size_t)w->time), t = (int64_t)(i % (size_t)w->time);
        const int64_t n = copy_integer(lengths, w->length_bytes, (size_t)b), from = t < n ? n - 1 - t : t;
        const int64_t at = b * w->batch_step;
        copy_block(y + (size_t)(at + t * w->time_step) * block, x + (size_t)(at + from * w->time_step) * block, block);
    }
}

static void reverse_sequence_run(const nacre_call *c) {
    const nacre_reverse_sequence_words *const w = (const void *)c->words;
    for (int64_t b = 0; b < w->batch; b++) {
        const int64_t n = copy_integer(nacre_operand(c, 1), w->length_bytes, (size_t)b);
        if (n < 0 || n > w->time) {
            nacre_fail(c, NACRE_FAILED_sequence_length, b, n, w->time, 0);
            return;
        }
    }
    region_job j = {c, 0, nacre_max(1, COPY_CHUNK_BYTES / nacre_max((size_t)w->block, 8)),
                    (size_t)(w->batch * w->time)};
    nacre_parallel(c->team, nacre_ceil_div(j.total, j.per_chunk), reverse_sequence_task, &j);
}

const nacre_entry nacre_reverse_sequence_entry = {
    .words = sizeof(nacre_reverse_sequence_words) / 8, .operands = 3, .run = reverse_sequence_run,
};

// ---- one_hot ----

static void one_hot_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const region_job *const j = arg;
    const nacre_one_hot_words *const w = (const void *)j->c->words;
    const void *const index = nacre_operand(j->c, 0);
    const size_t width = (size_t)w->width, inner = (size_t)w->inner;
    const char *const on = (const char *)nacre_operand(j->c, 1) + width;
    char *const y = nacre_operand(j->c, 2);
    const size_t first = chunk * j->per_chunk, end = nacre_min(first + j->per_chunk, j->total);
    for (size_t i = first; i < end; i++) {
        int64_t x = copy_integer(index, w->index_bytes, i);
        if (x < 0 && w->from_end) x += w->depth;
        if (x < 0 || x >= w->depth) continue;
        copy_block(y + ((i / inner * (size_t)w->depth + (size_t)x) * inner + i % inner) * width, on, width);
    }
}

static void one_hot_run(const nacre_call *c) {
    const nacre_one_hot_words *const w = (const void *)c->words;
    region_job j = {c, 0, 8 << 10, (size_t)(w->outer * w->inner)};
    nacre_parallel(c->team, nacre_ceil_div(j.total, j.per_chunk), one_hot_task, &j);
}

const nacre_entry nacre_one_hot_entry = {.words = sizeof(nacre_one_hot_words) / 8, .operands = 3, .run = one_hot_run};
