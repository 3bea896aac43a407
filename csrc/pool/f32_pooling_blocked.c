// Command f32_pooling_blocked.
#include "pool/blocked.h"
#include "pool/window.h"

enum { BLOCKED_POOL_GRAIN = 1 << 18 };  // elements read by a chunk of work

typedef struct {
    const nacre_f32_blocked_pooling_impl *impl;
    nacre_pooling p;
    nacre_pooling_axis depth, lines, columns;
    size_t block, rows, rows_each;
    const float *x;
    float *y;
    float *counts;  // by output of the columns
    const nacre_team *team;
} blocked_pooling_job;

static blocked_pooling_job blocked_pooling_of(const nacre_kernel *kernel, const nacre_pooling_blocked_words *w) {
    blocked_pooling_job j = {.impl = ((nacre_f32_blocked_pooling_fn *)kernel->fn)(), .p = nacre_pooling_of(&w->extents),
                             .block = (size_t)w->block};
    const nacre_pooling_axis one = {1, 1, 1, 1, 1, 0, 0};
    const size_t axes = j.p.axes;
    j.columns = j.p.axis[axes - 1];
    j.lines = axes < 2 ? one : j.p.axis[axes - 2];
    j.depth = axes < 3 ? one : j.p.axis[axes - 3];
    j.rows = j.p.planes * j.depth.out * j.lines.out;
    const size_t work = j.columns.out * j.columns.taps * j.lines.taps * j.depth.taps * j.block;
    j.rows_each = work >= BLOCKED_POOL_GRAIN || work == 0 ? 1 : BLOCKED_POOL_GRAIN / work;
    return j;
}

// Returns the position of the first tap of output o in the input, and sets *count to the number of
// taps in the input.
static size_t blocked_pooling_meets(const nacre_pooling_axis *a, size_t o, size_t *count) {
    size_t first;
    pool_taps(a, o, &first, count);
    return *count == 0 ? 0 : o * a->stride + first * a->dilation - a->pad;
}

static void blocked_pooling_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const blocked_pooling_job *const j = job;
    const size_t stop = nacre_min(j->rows, (chunk + 1) * j->rows_each), width = j->columns.in * j->block,
        slice = j->lines.in * width;
    nacre_f32_blocked_pooling r = {.away = j->depth.dilation * slice, .gap = j->lines.dilation * width,
                                   .columns = &j->columns, .block = j->block,
                                   .max = j->p.max, .counts = j->counts, .team = j->team};
    for (size_t i = chunk * j->rows_each; i < stop; i++) {
        const size_t o = i % j->lines.out, at = i / j->lines.out, d = at % j->depth.out, plane = at / j->depth.out;
        const size_t row = blocked_pooling_meets(&j->lines, o, &r.rows),
            first = blocked_pooling_meets(&j->depth, d, &r.slices);
        if (r.rows == 0) r.slices = 0;
        r.x = j->x + (plane * j->depth.in + first) * slice + row * width;
        r.outer = pool_divisor(&j->depth, d, j->p.count_pad) * pool_divisor(&j->lines, o, j->p.count_pad);
        r.y = j->y + i * j->columns.out * j->block;
        j->impl->row(&r);
    }
}

static int blocked_pooling_fits(const nacre_kernel *kernel, const int64_t *words) {
    const blocked_pooling_job j = blocked_pooling_of(kernel, (const void *)words);
    return j.p.axes <= 3 && j.block % j.impl->lanes == 0;
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
    j.team = c->team;
    for (size_t o = 0; o < j.columns.out; o++) j.counts[o] = pool_divisor(&j.columns, o, j.p.count_pad);
    nacre_parallel(c->team, nacre_strides(j.rows, j.rows_each), blocked_pooling_chunk, &j);
}

const nacre_entry nacre_f32_pooling_blocked_entry = {
    .words = sizeof(nacre_pooling_blocked_words) / 8, .operands = 2, .run = blocked_pooling_command,
    .fits = blocked_pooling_fits, .scratch = blocked_pooling_scratch,
};
