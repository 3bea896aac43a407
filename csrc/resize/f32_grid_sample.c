// Command f32_grid_sample.
#include "resize/taps.h"

enum {
    GRID_CHANNELS = 64,  // most channels per chunk
};

typedef struct {
    const nacre_f32_taps_impl *impl;
    const nacre_grid_words *w;
    const float *x, *grid;
    float *y;
    size_t places, space, channels, blocks, groups;  // chunks of an image: blocks of positions, groups of channels
    size_t most;                                     // taps per position
    char *scratch;
    size_t per_thread;
} grid_job;

static void grid_task(void *job, size_t chunk, size_t thread) {
    const grid_job *const j = job;
    const nacre_grid_words *const w = j->w;
    const size_t block = chunk / j->groups % j->blocks, image = chunk / j->groups / j->blocks, axes = (size_t)w->axes;
    const size_t first = block * NACRE_TAPS_BLOCK, n = nacre_min(NACRE_TAPS_BLOCK, j->places - first);
    nacre_axis_taps *const along = (void *)(j->scratch + thread * j->per_thread);
    nacre_taps t = nacre_taps_in(along + 1, j->most, NACRE_TAPS_BLOCK);
    nacre_taps_begin(&t, n);
    const float *const grid = j->grid + (image * j->places + first) * axes;
    bool missing = false;
    int64_t step = (int64_t)j->space;
    for (size_t a = 0; a < axes; a++) {
        const int64_t extent = w->in[a];
        step /= extent;
        nacre_taps_axis axis = {extent, w->mode, w->padding, -0.5f, (float)extent - 0.5f,
                w->mode == NACRE_GRID_CUBIC ? 2 : 0};
        float x[NACRE_TAPS_BLOCK];
        const float *const place = grid + axes - 1 - a;
        if (w->corners) {
            axis.low = 0;
            axis.high = (float)(extent - 1);
            for (size_t i = 0; i < n; i++) x[i] = (place[i * axes] + 1) / 2 * axis.high;
        } else {
            for (size_t i = 0; i < n; i++) x[i] = ((place[i * axes] + 1) * (float)extent - 1) / 2;
        }
        const size_t taps = j->impl->axis(&axis, NULL, x, n, along, &missing);
        j->impl->join(&t, along, taps, (int32_t)step, n);
    }
    if (!missing) t.there = NULL;
    const size_t from = chunk % j->groups * GRID_CHANNELS, to = nacre_chunk_end(from, GRID_CHANNELS, j->channels);
    for (size_t c = from; c < to; c++) {
        const size_t plane = image * j->channels + c;
        j->impl->sum(j->x + plane * j->space, &t, NULL, n, j->y + plane * j->places + first);
    }
}

// grid_taps returns the number of taps per position, along all axes.
static size_t grid_taps(const nacre_grid_words *w) {
    const size_t along = w->mode == NACRE_GRID_NEAREST ? 1 : w->mode == NACRE_GRID_LINEAR ? 2 : NACRE_TAPS_AXIS;
    size_t n = 1;
    for (int64_t a = 0; a < w->axes; a++) n *= along;
    return n;
}

static int grid_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_grid_words *const w = (const void *)words;
    size_t space = 1;
    for (int64_t a = 0; a < w->axes; a++) {
        if (w->in[a] > NACRE_GRID_EXTENT) return 0;
        space *= (size_t)w->in[a];
    }
    return space <= INT32_MAX && grid_taps(w) <= NACRE_TAPS_MOST;
}

static size_t grid_per_thread(const nacre_grid_words *w) {
    return nacre_align_bytes(sizeof(nacre_axis_taps) + nacre_taps_bytes(grid_taps(w), NACRE_TAPS_BLOCK));
}

static size_t grid_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return threads * grid_per_thread((const void *)words);
}

static void grid_command(const nacre_call *c) {
    const nacre_grid_words *const w = (const void *)c->words;
    grid_job j = {.impl = ((nacre_f32_taps_fn *)c->kernel->fn)(), .w = w, .x = nacre_operand(c, 0),
                  .grid = nacre_operand(c, 1),
                  .y = nacre_operand(c, 2), .places = (size_t)w->places, .space = 1, .channels = (size_t)w->channels,
                  .most = grid_taps(w), .scratch = c->scratch, .per_thread = grid_per_thread(w)};
    for (int64_t a = 0; a < w->axes; a++) j.space *= (size_t)w->in[a];
    j.blocks = nacre_ceil_div(j.places, NACRE_TAPS_BLOCK);
    j.groups = nacre_ceil_div(j.channels, GRID_CHANNELS);
    nacre_parallel(c->team, (size_t)w->images * j.blocks * j.groups, grid_task, &j);
}

const nacre_entry nacre_f32_grid_entry = {
    .words = sizeof(nacre_grid_words) / 8, .operands = 3, .run = grid_command, .fits = grid_fits,
    .scratch = grid_scratch,
};
