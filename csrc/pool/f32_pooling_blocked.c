// Command f32_pooling_blocked.
#include "pool/blocked.h"
#include "pool/taps.h"

enum { BLOCKED_POOL_GRAIN = 1 << 18 };  // elements that a chunk of work reads

typedef struct {
    const nacre_f32_blocked_pooling_impl *impl;
    nacre_pooling p;
    nacre_pooling_axis lines, columns;
    size_t block, rows, rows_each;
    const float *x;
    float *y;
    float *counts;  // by output of the columns
} blocked_pooling_job;

static blocked_pooling_job blocked_pooling_of(const nacre_kernel *kernel, const nacre_pooling_blocked_words *w) {
    blocked_pooling_job j = {.impl = ((nacre_f32_blocked_pooling_fn *)kernel->fn)(), .p = nacre_pooling_of(&w->extents), .block = (size_t)w->block};
    j.columns = j.p.axis[j.p.axes - 1];
    j.lines = j.p.axes == 1 ? (nacre_pooling_axis){1, 1, 1, 1, 1, 0, 0} : j.p.axis[0];
    j.rows = j.p.planes * j.lines.out;
    const size_t work = j.columns.out * j.columns.taps * j.lines.taps * j.block;
    j.rows_each = work >= BLOCKED_POOL_GRAIN || work == 0 ? 1 : BLOCKED_POOL_GRAIN / work;
    return j;
}

static void blocked_pooling_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const blocked_pooling_job *const j = job;
    const size_t stop = nacre_min(j->rows, (chunk + 1) * j->rows_each), width = j->columns.in * j->block;
    nacre_f32_blocked_pooling r = {.gap = j->lines.dilation * width, .columns = &j->columns, .block = j->block, .max = j->p.max, .counts = j->counts};
    for (size_t i = chunk * j->rows_each; i < stop; i++) {
        const size_t plane = i / j->lines.out, o = i % j->lines.out;
        size_t first;
        pool_taps(&j->lines, o, &first, &r.rows);
        r.x = j->x;
        if (r.rows > 0) r.x += (plane * j->lines.in + o * j->lines.stride + first * j->lines.dilation - j->lines.pad) * width;
        r.outer = pool_divisor(&j->lines, o, j->p.count_pad);
        r.y = j->y + i * j->columns.out * j->block;
        j->impl->row(&r);
    }
}

static int blocked_pooling_fits(const nacre_kernel *kernel, const int64_t *words) {
    const blocked_pooling_job j = blocked_pooling_of(kernel, (const void *)words);
    return j.p.axes <= 2 && j.block % j.impl->lanes == 0;
}

static size_t blocked_pooling_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    return blocked_pooling_of(kernel, (const void *)words).columns.out * sizeof(float);
}

static void blocked_pooling_command(const nacre_call *c) {
    blocked_pooling_job j = blocked_pooling_of(c->kernel, (const void *)c->words);
    j.x = nacre_operand(c, 0);
    j.y = nacre_operand(c, 1);
    j.counts = c->scratch;
    for (size_t o = 0; o < j.columns.out; o++) j.counts[o] = pool_divisor(&j.columns, o, j.p.count_pad);
    nacre_parallel(c->team, nacre_strides(j.rows, j.rows_each), blocked_pooling_chunk, &j);
}

const nacre_entry nacre_f32_pooling_blocked_entry = {
    .words = sizeof(nacre_pooling_blocked_words) / 8, .operands = 2, .run = blocked_pooling_command, .fits = blocked_pooling_fits,
    .scratch = blocked_pooling_scratch,
};
