// Command f32_resample.
#include "resize/resize.h"

// RESAMPLE_GRAIN is the least number of products per chunk.
enum { RESAMPLE_GRAIN = 1 << 14 };

typedef struct {
    const nacre_f32_resample_impl *impl;
    const nacre_half *half;
    nacre_dtype x_type, y_type;
    const void *x;
    void *y;
    size_t rows, n, inner;  // rows of the output
    nacre_resampling r;
    size_t in, per_thread;  // floats of input per output row; floats of scratch per thread
    float *scratch;
    size_t per_chunk;
} resample_job;

static void resample_task(void *job, size_t chunk, size_t thread) {
    const resample_job *const j = job;
    const size_t first = chunk * j->per_chunk, last = nacre_chunk_end(first, j->per_chunk, j->rows);
    const size_t out = j->inner == 1 ? j->r.m : j->inner;
    float *const widened = j->scratch + thread * j->per_thread, *const sums = widened + j->in;
    for (size_t i = first; i < last; i++) {
        const size_t k = i % j->r.m,
            at = j->inner == 1 ? i * j->n : (i / j->r.m * j->n + (size_t)j->r.start[k]) * j->inner;
        const float *x = (const void *)((const char *)j->x + at * nacre_float_size(j->x_type));
        void *const y = (char *)j->y + i * out * nacre_float_size(j->y_type);
        float *const to = j->y_type == NACRE_DTYPE_f32 ? y : sums;
        if (j->x_type != NACRE_DTYPE_f32) {
            j->half->widen[j->x_type](x, widened, j->in);
            x = widened;
        }
        if (j->inner == 1) {
            j->impl->row(x, &j->r, to);
        } else {
            j->impl->cols(x, j->inner, j->inner, &j->r, k, to);
        }
        if (j->y_type != NACRE_DTYPE_f32) j->half->narrow[j->y_type](sums, y, out);
    }
}

static resample_job resample_of(const nacre_kernel *kernel, const nacre_f32_resample_words *w) {
    resample_job j = {.impl = ((nacre_f32_resample_fn *)kernel->fn)(), .x_type = (nacre_dtype)w->x_type,
                      .y_type = (nacre_dtype)w->y_type, .n = (size_t)w->n, .inner = (size_t)w->inner, .per_chunk = 1,
                      .r = {(size_t)w->m, (size_t)w->taps, (size_t)w->step, NULL, NULL}};
    j.rows = (size_t)w->outer * (j.inner == 1 ? 1 : j.r.m);
    j.in = j.inner == 1 ? j.n : j.r.taps * j.inner;
    j.per_thread = j.in + (j.inner == 1 ? j.r.m : j.inner);
    if (j.x_type == NACRE_DTYPE_f32 && j.y_type == NACRE_DTYPE_f32) j.in = j.per_thread = 0;
    return j;
}

static size_t resample_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    return threads * resample_of(kernel, (const void *)words).per_thread * sizeof(float);
}

static void resample_command(const nacre_call *c) {
    const nacre_f32_resample_words *const w = (const void *)c->words;
    resample_job j = resample_of(c->kernel, w);
    j.half = w->half == 0 ? NULL : ((nacre_half_fn *)nacre_part_fn(w->half))();
    j.x = nacre_operand(c, 0);
    j.r.start = nacre_operand(c, 1);
    j.r.weights = nacre_operand(c, 2);
    j.y = nacre_operand(c, 3);
    j.scratch = c->scratch;
    const size_t work = j.r.taps * (j.inner == 1 ? j.r.m : j.inner);
    if (work < RESAMPLE_GRAIN) j.per_chunk = RESAMPLE_GRAIN / work;
    nacre_parallel(c->team, j.rows / j.per_chunk + (j.rows % j.per_chunk != 0), resample_task, &j);
}

const nacre_entry nacre_f32_resample_entry = {
    .words = sizeof(nacre_f32_resample_words) / 8, .operands = 4, .run = resample_command, .scratch = resample_scratch,
};
