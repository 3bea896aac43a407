// Local response normalisation, by neighbouring channels, in tiles of columns.
#include "norm/strip.h"

enum { LRN_WORK = 1 << 26 }; // most elements in the windows of a tile

typedef struct {
    nacre_f32_lrn_fn *kernel;
    norm_type type;
    const void *x;
    void *out;
    size_t batch, channels, inner;
    nacre_lrn_params params;
    float *scratch;  // two tiles per thread
    size_t tiles, per_chunk;
} lrn_job;

static size_t lrn_room(size_t channels, size_t inner) {
    return nacre_align_floats(channels * nacre_min(inner, NACRE_NORM_COLS));
}

static void lrn_tile(const lrn_job *j, size_t at, size_t cols, float *room) {
    if (j->type.type == NACRE_DTYPE_f32) {
        j->kernel((const float *)j->x + at, j->channels, j->inner, cols, &j->params, (float *)j->out + at);
        return;
    }
    float *const out = room + lrn_room(j->channels, j->inner);
    for (size_t k = 0; k < j->channels; k++) norm_read(j->type, j->x, at + k * j->inner, cols, room + k * cols);
    j->kernel(room, j->channels, cols, cols, &j->params, out);
    for (size_t k = 0; k < j->channels; k++) norm_write(j->type, j->out, at + k * j->inner, cols, out + k * cols);
}

static void lrn_chunk(void *job, size_t chunk, size_t thread) {
    const lrn_job *const j = job;
    float *const room = j->scratch + thread * 2 * lrn_room(j->channels, j->inner);
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->batch * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t c = t % j->tiles * NACRE_NORM_COLS;
        lrn_tile(j, t / j->tiles * j->channels * j->inner + c, nacre_min(NACRE_NORM_COLS, j->inner - c), room);
    }
}

static void lrn_command(const nacre_call *c) {
    const nacre_f32_lrn_words *const w = (const void *)c->words;
    lrn_job j = {
        .kernel = (nacre_f32_lrn_fn *)c->kernel->fn,
        .type = norm_type_of(w->type, w->half),
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 1),
        .batch = (size_t)w->batch,
        .channels = (size_t)w->channels,
        .inner = (size_t)w->inner,
        .params = {(size_t)w->size, (float)w->alpha, (float)w->beta, (float)w->bias},
        .scratch = c->scratch,
    };
    j.tiles = nacre_ceil_div(j.inner, NACRE_NORM_COLS);
    j.per_chunk = norm_per_chunk(j.channels * nacre_min(j.inner, NACRE_NORM_COLS));
    nacre_parallel(c->team, nacre_ceil_div(j.batch * j.tiles, j.per_chunk), lrn_chunk, &j);
}

static size_t lrn_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_lrn_words *const w = (const void *)words;
    return w->type == NACRE_DTYPE_f32 ? 0
        : threads * 2 * lrn_room((size_t)w->channels, (size_t)w->inner) * sizeof(float);
}

// lrn_fits refuses wide windows over many channels: a run cannot stop within a tile.
static int lrn_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_f32_lrn_words *const w = (const void *)words;
    const size_t window = nacre_min((size_t)w->size, (size_t)w->channels);
    return (size_t)w->channels * window <= LRN_WORK / nacre_min((size_t)w->inner + 1, NACRE_NORM_COLS);
}

const nacre_entry nacre_f32_lrn_entry = {
    .words = sizeof(nacre_f32_lrn_words) / 8, .operands = 2, .run = lrn_command, .fits = lrn_fits,
    .scratch = lrn_scratch,
};
