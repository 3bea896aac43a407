// Normalisation of channels, with statistics of groups of channels or with given ones.
#include <math.h>
#include <string.h>

#include "norm/strip.h"

typedef struct {
    const nacre_f32_norm_impl *impl;
    norm_type type;
    const void *x;
    void *out;
    size_t groups;  // of the whole batch
    size_t per_group, channels, inner;
    const float *sub;  // per channel, or NULL for the mean of the group
    const float *scale, *bias;
    size_t per_param;  // channels per element of scale and bias
    float epsilon;
    float *scratch;  // NACRE_NORM_BLOCK elements per thread
    size_t per_chunk;
} channel_norm_job;

// channel_norm_sum returns the sum of n elements, or of the squares of their distances from shift.
// It sums in blocks of NACRE_NORM_BLOCK, as nacre_f32_norm_impl.sum does.
static double channel_norm_sum(const channel_norm_job *j, size_t at, size_t n, bool squares, float shift, float *room) {
    if (j->type.type == NACRE_DTYPE_f32) return j->impl->sum((const float *)j->x + at, n, squares, shift);
    double sum = 0;
    for (size_t i = 0; i < n; i += NACRE_NORM_BLOCK) {
        const size_t count = nacre_min(NACRE_NORM_BLOCK, n - i);
        sum += j->impl->sum(norm_read(j->type, j->x, at + i, count, room), count, squares, shift);
    }
    return sum;
}

// channel_norm_affine normalises one channel of one sample.
static void channel_norm_affine(const channel_norm_job *j, size_t at, float sub, float mul, float add, float *room) {
    for (size_t i = 0; i < j->inner; i += NACRE_NORM_BLOCK) {
        const size_t count = nacre_min(NACRE_NORM_BLOCK, j->inner - i);
        float *const out = norm_room(j->type, j->out, at + i, room);
        j->impl->affine(norm_read(j->type, j->x, at + i, count, room), count, sub, mul, add, out);
        norm_write(j->type, j->out, at + i, count, out);
    }
}

static void channel_norm_chunk(void *job, size_t chunk, size_t thread) {
    const channel_norm_job *const j = job;
    float *const room = j->scratch + thread * NACRE_NORM_BLOCK;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->groups);
    for (size_t g = chunk * j->per_chunk; g < last; g++) {
        const size_t first = g * j->per_group, n = j->per_group * j->inner;  // first counts channels through the batch
        float mean = 0, inv_std = 1;
        if (j->sub == NULL) {
            const double inverse = 1 / (double)n;
            mean = (float)(channel_norm_sum(j, first * j->inner, n, false, 0.0f, room) * inverse);
            const float variance = (float)(channel_norm_sum(j, first * j->inner, n, true, mean, room) * inverse);
            inv_std = 1.0f / sqrtf(variance + j->epsilon);
        }
        for (size_t k = first; k < first + j->per_group; k++) {
            const size_t c = k % j->channels, p = c / j->per_param;
            channel_norm_affine(j, k * j->inner, j->sub == NULL ? mean : j->sub[c], inv_std * j->scale[p], j->bias[p],
                                room);
        }
    }
}

static void channel_norm_run(channel_norm_job *j, nacre_team *team) {
    j->per_chunk = norm_per_chunk(j->per_group * j->inner);
    nacre_parallel(team, nacre_ceil_div(j->groups, j->per_chunk), channel_norm_chunk, j);
}

static size_t channel_norm_room(int64_t half, size_t threads) {
    return half == 0 ? 0 : threads * NACRE_NORM_BLOCK * sizeof(float);
}

// ---- f32_group_norm ----

static void group_norm_command(const nacre_call *c) {
    const nacre_f32_group_norm_words *const w = (const void *)c->words;
    const size_t channels = (size_t)w->channels, params = (size_t)w->params, step = nacre_align_floats(params);
    if (channels == 0) return;
    float *const scratch = c->scratch;
    channel_norm_job j = {
        .impl = ((nacre_f32_norm_fn *)c->kernel->fn)(),
        .type = norm_type_of(w->type, w->half),
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 3),
        .groups = (size_t)w->batch * (size_t)w->groups,
        .per_group = channels / (size_t)w->groups,
        .channels = channels,
        .inner = (size_t)w->inner,
        .scale = norm_read_all(norm_type_of(w->scale_type, w->half), nacre_operand(c, 1), params, scratch),
        .bias = norm_read_all(norm_type_of(w->bias_type, w->half), nacre_operand(c, 2), params, scratch + step),
        .per_param = channels / params,
        .epsilon = (float)w->epsilon,
        .scratch = scratch + 2 * step,
    };
    channel_norm_run(&j, c->team);
}

static size_t group_norm_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_group_norm_words *const w = (const void *)words;
    return w->half == 0 ? 0 : 2 * nacre_align_floats((size_t)w->params) * sizeof(float) +
        channel_norm_room(w->half, threads);
}

const nacre_entry nacre_f32_group_norm_entry = {
    .words = sizeof(nacre_f32_group_norm_words) / 8, .operands = 4, .run = group_norm_command,
    .scratch = group_norm_scratch,
};

// ---- f32_batch_norm ----

// batch_norm_fold turns the parameters of each channel into an affine function, computed in double.
// If inner is 1, add includes the mean.
typedef struct {
    const nacre_call *call;
    const nacre_f32_batch_norm_words *w;
    float *sub, *mul, *add;
} batch_norm_fold;

static double batch_norm_param(const batch_norm_fold *f, size_t i, size_t c) {
    const norm_type type = norm_type_of(f->w->param_type[i], f->w->half);
    float room;
    return *norm_read(type, nacre_operand(f->call, 1 + i), c, 1, &room);
}

enum { BATCH_NORM_FOLD = 4096 };

static void batch_norm_fold_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const batch_norm_fold *const f = job;
    const size_t last = nacre_min((chunk + 1) * BATCH_NORM_FOLD, (size_t)f->w->channels);
    for (size_t c = chunk * BATCH_NORM_FOLD; c < last; c++) {
        const double mean = batch_norm_param(f, 2, c), bias = batch_norm_param(f, 1, c);
        const double mul = batch_norm_param(f, 0, c) / sqrt(batch_norm_param(f, 3, c) + f->w->epsilon);
        f->sub[c] = (float)mean;
        f->mul[c] = (float)mul;
        f->add[c] = (float)(f->w->inner == 1 ? bias - mean * mul : bias);
    }
}

typedef struct {
    const channel_norm_job *base;
    size_t rows, blocks;  // blocks of channels in a row
    size_t per_chunk;
} batch_norm_rows;

// batch_norm_rows_chunk normalises blocks of rows if inner is 1.
static void batch_norm_rows_chunk(void *job, size_t chunk, size_t thread) {
    const batch_norm_rows *const r = job;
    const channel_norm_job *const j = r->base;
    float *const room = j->scratch + thread * NACRE_NORM_BLOCK;
    const size_t last = nacre_min((chunk + 1) * r->per_chunk, r->rows * r->blocks);
    for (size_t b = chunk * r->per_chunk; b < last; b++) {
        const size_t c = b % r->blocks * NACRE_NORM_BLOCK, at = b / r->blocks * j->channels + c;
        const size_t count = nacre_min(NACRE_NORM_BLOCK, j->channels - c);
        float *const out = norm_room(j->type, j->out, at, room);
        j->impl->affine_each(norm_read(j->type, j->x, at, count, room), count, 0.0f, 1.0f, j->scale + c, j->bias + c,
                             out);
        norm_write(j->type, j->out, at, count, out);
    }
}

static void batch_norm_command(const nacre_call *c) {
    const nacre_f32_batch_norm_words *const w = (const void *)c->words;
    const size_t channels = (size_t)w->channels, step = nacre_align_floats(channels);
    float *const scratch = c->scratch;
    batch_norm_fold fold = {c, w, scratch, scratch + step, scratch + 2 * step};
    nacre_parallel(c->team, nacre_ceil_div(channels, BATCH_NORM_FOLD), batch_norm_fold_chunk, &fold);
    channel_norm_job j = {
        .impl = ((nacre_f32_norm_fn *)c->kernel->fn)(),
        .type = norm_type_of(w->type, w->half),
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 5),
        .groups = (size_t)w->batch * channels,
        .per_group = 1,
        .channels = channels,
        .inner = (size_t)w->inner,
        .sub = fold.sub,
        .scale = fold.mul,
        .bias = fold.add,
        .per_param = 1,
        .scratch = scratch + 3 * step,
    };
    if (w->inner != 1) {
        channel_norm_run(&j, c->team);
        return;
    }
    batch_norm_rows rows = {&j, (size_t)w->batch, nacre_ceil_div(channels, NACRE_NORM_BLOCK),
                            norm_per_chunk(nacre_min(channels, NACRE_NORM_BLOCK))};
    nacre_parallel(c->team, nacre_ceil_div(rows.rows * rows.blocks, rows.per_chunk), batch_norm_rows_chunk, &rows);
}

static size_t batch_norm_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_batch_norm_words *const w = (const void *)words;
    return 3 * nacre_align_floats((size_t)w->channels) * sizeof(float) + channel_norm_room(w->half, threads);
}

const nacre_entry nacre_f32_batch_norm_entry = {
    .words = sizeof(nacre_f32_batch_norm_words) / 8, .operands = 6, .run = batch_norm_command,
    .scratch = batch_norm_scratch,
};
