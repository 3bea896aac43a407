#include "eltwise/eltwise.h"

enum { GATED_CHUNK = 1 << 14, GATED_BLOCK = 1 << 10 };

typedef struct {
    nacre_binary_fn mul, add;
    const float *x, *y, *gate;
    float *out;
    size_t rows, n;
} gated_job;

// Computes elements i..i+n-1 with gates that are gate_step apart.
static void gated_block(const gated_job *j, size_t i, const float *gate, size_t gate_step, size_t n) {
    _Alignas(64) float product[GATED_BLOCK];
    j->mul(j->y + i, 1, gate, gate_step, product, n);
    j->add(j->x + i, 1, product, 1, j->out + i, n);
}

static void gated_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const gated_job *const j = job;
    const size_t first = chunk * GATED_CHUNK, end = nacre_chunk_end(first, GATED_CHUNK, j->rows * j->n);
    for (size_t i = first, n; i < end; i += n) {
        n = nacre_min(GATED_BLOCK, end - i);
        if (j->n == 1) {
            gated_block(j, i, j->gate + i, 1, n);
        } else {
            n = nacre_min(n, j->n - i % j->n);
            gated_block(j, i, j->gate + i / j->n, 0, n);
        }
    }
}

static void gated_command(const nacre_call *c) {
    const nacre_gated_words *const w = (const void *)c->words;
    gated_job j = {.mul = (nacre_binary_fn)nacre_part_fn(w->mul), .add = (nacre_binary_fn)nacre_part_fn(w->add),
                   .x = nacre_operand(c, 0), .y = nacre_operand(c, 1), .gate = nacre_operand(c, 2),
                   .out = nacre_operand(c, 3),
                   .rows = (size_t)w->rows, .n = (size_t)w->n};
    nacre_parallel(c->team, nacre_ceil_div(j.rows * j.n, GATED_CHUNK), gated_chunk, &j);
}

const nacre_entry nacre_gated_entry = {.words = sizeof(nacre_gated_words) / 8, .operands = 4, .run = gated_command};
