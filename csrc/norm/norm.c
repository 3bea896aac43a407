#include "norm/norm.h"

#include <math.h>

#include "core/target.h"

// Each kernel is declared once more by its own row, with the type of its op.
#define NACRE_KERNEL(op, variant, isa, function) NORM_DECLARE_##op(function)
#define NORM_DECLARE_f32_softmax(function) \
    void function(const float *x, size_t n, size_t stride, size_t cols, bool log_, float *out);
#define NORM_DECLARE_f32_moments(function) void function(const float *x, size_t n, bool centred, float *mean, float *var);
#define NORM_DECLARE_f32_affine(function) void function(const float *x, size_t n, float sub, float mul, float add, float *out);
#define NORM_DECLARE_f32_affine_each(function) \
    void function(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias, float *out);
#define NORM_DECLARE_f32_lrn(function) \
    void function(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p, float *out);
#include "norm/kernels.inc"
#undef NACRE_KERNEL

const nacre_kernel nacre_norm_kernels[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "norm/kernels.inc"
#undef NACRE_KERNEL
};
const size_t nacre_norm_kernel_count = sizeof nacre_norm_kernels / sizeof nacre_norm_kernels[0];

// Elements that a chunk of work should at least have.
enum { NORM_GRAIN = 1 << 14 };

static inline size_t norm_min(size_t a, size_t b) { return a < b ? a : b; }

// How many items of that many elements make a chunk.
static inline size_t norm_per_chunk(size_t elements) { return elements >= NORM_GRAIN ? 1 : NORM_GRAIN / (elements == 0 ? 1 : elements); }

static inline size_t norm_chunks(size_t items, size_t per_chunk) { return items / per_chunk + (items % per_chunk != 0); }

typedef struct {
    nacre_f32_softmax_fn kernel;
    const float *x;
    size_t outer, n, inner;
    bool log;
    float *out;
    size_t tiles, per_chunk;
} softmax_job;

static void softmax_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const softmax_job *j = job;
    const size_t last = norm_min((chunk + 1) * j->per_chunk, j->outer * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t c = t % j->tiles * NACRE_NORM_COLS, at = t / j->tiles * j->n * j->inner + c;
        j->kernel(j->x + at, j->n, j->inner, norm_min(NACRE_NORM_COLS, j->inner - c), j->log, j->out + at);
    }
}

void nacre_f32_softmax(nacre_f32_softmax_fn kernel, nacre_team *team, const float *x, size_t outer, size_t n, size_t inner, bool log_,
                       float *out) {
    softmax_job j = {kernel, x, outer, n, inner, log_, out, 0, 0};
    j.tiles = (inner + NACRE_NORM_COLS - 1) / NACRE_NORM_COLS;
    j.per_chunk = norm_per_chunk(n * norm_min(inner, NACRE_NORM_COLS));
    nacre_parallel(team, norm_chunks(outer * j.tiles, j.per_chunk), softmax_task, &j);
}

typedef struct {
    nacre_f32_moments_fn moments;
    nacre_f32_affine_each_fn affine;
    const float *x;
    size_t rows, n;
    const float *scale, *bias;
    float epsilon;
    bool centred;
    float *out, *mean, *inv_std;
    size_t per_chunk;
} layer_norm_job;

static void layer_norm_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const layer_norm_job *j = job;
    const size_t last = norm_min((chunk + 1) * j->per_chunk, j->rows);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        float mean = 0, var = 1;
        if (j->moments != NULL) j->moments(j->x + r * j->n, j->n, j->centred, &mean, &var);
        const float inv_std = j->moments == NULL ? 1.0f : 1.0f / sqrtf(var + j->epsilon);
        j->affine(j->x + r * j->n, j->n, mean, inv_std, j->scale, j->bias, j->out + r * j->n);
        if (j->mean != NULL) j->mean[r] = mean;
        if (j->inv_std != NULL) j->inv_std[r] = inv_std;
    }
}

void nacre_f32_layer_norm(nacre_f32_moments_fn moments, nacre_f32_affine_each_fn affine, nacre_team *team, const float *x, size_t rows,
                          size_t n, const float *scale, const float *bias, float epsilon, bool centred, float *out, float *mean,
                          float *inv_std) {
    layer_norm_job j = {moments, affine, x, rows, n, scale, bias, epsilon, centred, out, mean, inv_std, norm_per_chunk(n)};
    nacre_parallel(team, norm_chunks(rows, j.per_chunk), layer_norm_task, &j);
}

void nacre_f32_row_affine(nacre_f32_affine_each_fn affine, nacre_team *team, const float *x, size_t rows, size_t channels,
                          const float *mul, const float *add, float *out) {
    layer_norm_job j = {NULL, affine, x, rows, channels, mul, add, 0, false, out, NULL, NULL, norm_per_chunk(channels)};
    nacre_parallel(team, norm_chunks(rows, j.per_chunk), layer_norm_task, &j);
}

typedef struct {
    nacre_binary_fn add;
    nacre_f32_moments_fn moments;
    nacre_f32_affine_each_fn affine;
    const nacre_skip_norm *s;
    size_t per_chunk;
} skip_norm_job;

static void skip_norm_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const skip_norm_job *j = job;
    const nacre_skip_norm *s = j->s;
    const size_t last = norm_min((chunk + 1) * j->per_chunk, s->rows);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        const float *x = s->x + r * s->n, *skip = s->skip + r % s->skip_rows * s->n;
        float *sum = s->sum + r * s->n;
        j->add(x, 1, skip, 1, sum, s->n);
        if (s->bias != NULL) j->add(sum, 1, s->bias, 1, sum, s->n);
        float mean, var;
        j->moments(sum, s->n, s->centred, &mean, &var);
        const float inv_std = 1.0f / sqrtf(var + s->epsilon);
        j->affine(sum, s->n, mean, inv_std, s->scale, s->beta, s->out + r * s->n);
        if (s->mean != NULL) s->mean[r] = mean;
        if (s->inv_std != NULL) s->inv_std[r] = inv_std;
    }
}

void nacre_f32_skip_norm(nacre_binary_fn add, nacre_f32_moments_fn moments, nacre_f32_affine_each_fn affine, nacre_team *team,
                         const nacre_skip_norm *s) {
    skip_norm_job j = {add, moments, affine, s, norm_per_chunk(s->n)};
    nacre_parallel(team, norm_chunks(s->rows, j.per_chunk), skip_norm_task, &j);
}

typedef struct {
    nacre_f32_moments_fn moments;
    nacre_f32_affine_fn affine;
    const float *x;
    size_t groups; // of the whole batch
    size_t per_group, channels, inner;
    const float *sub, *scale, *bias;
    float epsilon;
    float *out;
    size_t per_chunk;
} group_norm_job;

static void group_norm_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const group_norm_job *j = job;
    const size_t last = norm_min((chunk + 1) * j->per_chunk, j->groups);
    for (size_t g = chunk * j->per_chunk; g < last; g++) {
        const size_t first = g * j->per_group; // channel, counted through the batch
        float mean = 0, var = 1, inv_std = 1;
        if (j->moments != NULL) {
            j->moments(j->x + first * j->inner, j->per_group * j->inner, true, &mean, &var);
            inv_std = 1.0f / sqrtf(var + j->epsilon);
        }
        for (size_t k = first; k < first + j->per_group; k++) {
            const size_t c = k % j->channels;
            const float sub = j->sub == NULL ? mean : j->sub[c];
            j->affine(j->x + k * j->inner, j->inner, sub, inv_std * j->scale[c], j->bias[c], j->out + k * j->inner);
        }
    }
}

void nacre_f32_group_norm(nacre_f32_moments_fn moments, nacre_f32_affine_fn affine, nacre_team *team, const float *x, size_t batch,
                          size_t channels, size_t groups, size_t inner, const float *scale, const float *bias, float epsilon, float *out) {
    const size_t per_group = channels / groups;
    group_norm_job j = {moments, affine, x,       batch * groups, per_group, channels, inner,
                        NULL,    scale,  bias,    epsilon,        out,       norm_per_chunk(per_group * inner)};
    nacre_parallel(team, norm_chunks(j.groups, j.per_chunk), group_norm_task, &j);
}

void nacre_f32_channel_affine(nacre_f32_affine_fn affine, nacre_team *team, const float *x, size_t batch, size_t channels, size_t inner,
                              const float *sub, const float *mul, const float *add, float *out) {
    group_norm_job j = {NULL, affine, x, batch * channels, 1, channels, inner, sub, mul, add, 0, out, norm_per_chunk(inner)};
    nacre_parallel(team, norm_chunks(j.groups, j.per_chunk), group_norm_task, &j);
}

typedef struct {
    nacre_f32_lrn_fn kernel;
    const float *x;
    size_t batch, channels, inner;
    const nacre_lrn_params *params;
    float *out;
    size_t tiles, per_chunk;
} lrn_job;

static void lrn_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const lrn_job *j = job;
    const size_t last = norm_min((chunk + 1) * j->per_chunk, j->batch * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t c = t % j->tiles * NACRE_NORM_COLS, at = t / j->tiles * j->channels * j->inner + c;
        j->kernel(j->x + at, j->channels, j->inner, norm_min(NACRE_NORM_COLS, j->inner - c), j->params, j->out + at);
    }
}

void nacre_f32_lrn(nacre_f32_lrn_fn kernel, nacre_team *team, const float *x, size_t batch, size_t channels, size_t inner,
                   const nacre_lrn_params *p, float *out) {
    lrn_job j = {kernel, x, batch, channels, inner, p, out, 0, 0};
    j.tiles = (inner + NACRE_NORM_COLS - 1) / NACRE_NORM_COLS;
    j.per_chunk = norm_per_chunk(channels * norm_min(inner, NACRE_NORM_COLS));
    nacre_parallel(team, norm_chunks(batch * j.tiles, j.per_chunk), lrn_task, &j);
}
