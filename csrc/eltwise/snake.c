#include "eltwise/eltwise.h"

enum { SNAKE_CHUNK = 1 << 14, SNAKE_BLOCK = 1 << 10 };

typedef struct {
    nacre_binary_fn mul, add;
    nacre_unary_fn sin;
    const float *x, *alpha, *ratio;
    float *y;
    size_t rows, channels, n;
} snake_job;

// Computes elements i..i+n-1, which have one channel.
static void snake_block(const snake_job *j, size_t i, size_t channel, size_t n) {
    _Alignas(64) float t[SNAKE_BLOCK];
    const float none[2] = {0};
    j->mul(j->x + i, 1, j->alpha + channel, 0, t, n);
    j->sin(t, t, n, none);
    j->mul(t, 1, t, 1, t, n);
    j->mul(t, 1, j->ratio + channel, 0, t, n);
    j->add(j->x + i, 1, t, 1, j->y + i, n);
}

static void snake_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const snake_job *const j = job;
    const size_t first = chunk * SNAKE_CHUNK, end = nacre_chunk_end(first, SNAKE_CHUNK, j->rows * j->n);
    for (size_t i = first, n; i < end; i += n) {
        n = nacre_min(nacre_min(SNAKE_BLOCK, end - i), j->n - i % j->n);
        snake_block(j, i, i / j->n % j->channels, n);
    }
}

static void snake_command(const nacre_call *c) {
    const nacre_snake_words *const w = (const void *)c->words;
    snake_job j = {.mul = (nacre_binary_fn)nacre_part_fn(w->mul), .add = (nacre_binary_fn)nacre_part_fn(w->add),
                   .sin = (nacre_unary_fn)nacre_part_fn(w->sin), .x = nacre_operand(c, 0), .alpha = nacre_operand(c, 1),
                   .ratio = nacre_operand(c, 2), .y = nacre_operand(c, 3), .rows = (size_t)w->rows,
                   .channels = (size_t)w->channels, .n = (size_t)w->n};
    nacre_parallel(c->team, nacre_ceil_div(j.rows * j.n, SNAKE_CHUNK), snake_chunk, &j);
}

const nacre_entry nacre_snake_entry = {.words = sizeof(nacre_snake_words) / 8, .operands = 4, .run = snake_command};
