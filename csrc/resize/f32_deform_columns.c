// Command f32_deform_columns, by tables of taps.
#include <string.h>

#include "resize/deform.h"
#include "resize/taps.h"

enum {
    DEFORM_CHANNELS = 64,  // most channels per chunk
    DEFORM_LINEAR = 5,     // most axes of a table of taps
};

typedef struct {
    const nacre_f32_taps_impl *impl;
    const nacre_deform_words *w;
    const float *x, *offsets, *mask;
    float *y;
    deform_space s;
    size_t blocks, groups;
    char *scratch;
    size_t per_thread;
} f32_deform_job;

// deform_places sets x to the positions from first on along an axis, before offsets are added.
static void deform_places(const f32_deform_job *j, size_t axis, size_t k, size_t first, size_t n, int32_t *x) {
    const nacre_deform_words *const w = j->w;
    const int64_t tap = (int64_t)k / j->s.kernel_step[axis] % w->kernel[axis], step = j->s.out_step[axis];
    const int64_t base = tap * w->dilation[axis] - w->pad[axis];
    int64_t at = (int64_t)first / step % w->out[axis], rest = (int64_t)first % step;
    for (size_t i = 0; i < n; i++) {
        x[i] = (int32_t)(at * w->stride[axis] + base);
        if (++rest < step) continue;
        rest = 0;
        at = at + 1 < w->out[axis] ? at + 1 : 0;
    }
}

static void f32_deform_task(void *job, size_t chunk, size_t thread) {
    const f32_deform_job *const j = job;
    const deform_space *const s = &j->s;
    const nacre_deform_words *const w = j->w;
    const size_t axes = (size_t)w->axes, group = chunk % j->groups, block = chunk / j->groups % j->blocks;
    const size_t k = chunk / j->groups / j->blocks % s->kernel,
            f = s->field + chunk / j->groups / j->blocks / s->kernel;
    const size_t begin = block * NACRE_TAPS_BLOCK, n = nacre_min(NACRE_TAPS_BLOCK, s->places - begin);
    const size_t per = (size_t)w->per_field, first = (size_t)w->first, last = first + (size_t)w->channels;
    const size_t from = nacre_max(f * per, first) + group * DEFORM_CHANNELS;
    const size_t to = nacre_min(nacre_min((f + 1) * per, last), from + DEFORM_CHANNELS);
    if (from >= to) return;
    nacre_axis_taps *const along = (void *)(j->scratch + thread * j->per_thread);
    nacre_taps t = nacre_taps_in(along + 1, (size_t)1 << axes, NACRE_TAPS_BLOCK);
    nacre_taps_begin(&t, n);
    bool missing = false;
    const size_t row = f * s->kernel + k;
    for (size_t a = 0; a < axes; a++) {
        const nacre_taps_axis axis = {w->in[a], NACRE_GRID_LINEAR, NACRE_GRID_ZEROS, 0, 0, 0};
        float x[NACRE_TAPS_BLOCK];
        int32_t base[NACRE_TAPS_BLOCK];
        deform_places(j, a, k, begin, n, base);
        memcpy(x, j->offsets + (row * axes + a) * s->places + begin, n * sizeof(float));
        const size_t taps = j->impl->axis(&axis, base, x, n, along, &missing);
        j->impl->join(&t, along, taps, (int32_t)s->in_step[a], n);
    }
    if (!missing) t.there = NULL;
    const float *const scale = j->mask == NULL ? NULL : j->mask + row * s->places + begin;
    for (size_t c = from; c < to; c++) {
        j->impl->sum(j->x + c * s->pixels, &t, scale, n, j->y + ((c - first) * s->kernel + k) * s->places + begin);
    }
}

static int f32_deform_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_deform_words *const w = (const void *)words;
    size_t pixels = 1;
    for (int64_t a = 0; a < w->axes; a++) {
        const int64_t reach = w->out[a] * w->stride[a] + w->kernel[a] * w->dilation[a] + w->pad[a];
        if (w->in[a] > NACRE_GRID_EXTENT || reach > NACRE_GRID_EXTENT) return 0;
        pixels *= (size_t)w->in[a];
    }
    return w->axes <= DEFORM_LINEAR && pixels > 0 && pixels <= INT32_MAX;
}

static size_t f32_deform_per_thread(const nacre_deform_words *w) {
    return nacre_align_bytes(sizeof(nacre_axis_taps) + nacre_taps_bytes((size_t)1 << w->axes, NACRE_TAPS_BLOCK));
}

static size_t f32_deform_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return threads * f32_deform_per_thread((const void *)words);
}

static void f32_deform_run(const nacre_call *c) {
    const nacre_deform_words *const w = (const void *)c->words;
    f32_deform_job j = {.impl = ((nacre_f32_taps_fn *)c->kernel->fn)(), .w = w, .x = nacre_operand(c, 0),
                        .offsets = nacre_operand(c, 1), .mask = nacre_operand(c, 2), .y = nacre_operand(c, 3),
                        .s = deform_space_of(w), .scratch = c->scratch,
                        .per_thread = f32_deform_per_thread(w)};
    j.blocks = nacre_ceil_div(j.s.places, NACRE_TAPS_BLOCK);
    j.groups = nacre_ceil_div((size_t)nacre_min_i64(w->channels, w->per_field), DEFORM_CHANNELS);
    nacre_parallel(c->team, j.s.fields * j.s.kernel * j.blocks * j.groups, f32_deform_task, &j);
}

const nacre_entry nacre_f32_deform_entry = {
    .words = sizeof(nacre_deform_words) / 8, .operands = 4, .run = f32_deform_run, .fits = f32_deform_fits,
    .scratch = f32_deform_scratch,
};
