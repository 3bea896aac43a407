// Drivers of f32_quantize: grids of scales, broadcasting, threads.
#include <math.h>

#include "quant/quant.h"

enum { QUANT_CHUNK = 1 << 14 };

static size_t quant_least(size_t a, size_t b) { return a < b ? a : b; }
static size_t quant_chunks(size_t n) { return (n + QUANT_CHUNK - 1) / QUANT_CHUNK; }

// ---- grids ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    nacre_quant_grid grid;
    nacre_quant_codes codes;  // of y; of x only the type, when dequantising
    int back;                 // dequantise
    const void *x;
    const float *scale;
    const int32_t *zero;
    void *y;
} grid_job;

static size_t quant_size(nacre_quant_type type) {
    switch (type) {
        case NACRE_QUANT_U8:
        case NACRE_QUANT_I8: return 1;
        case NACRE_QUANT_U16:
        case NACRE_QUANT_I16: return 2;
        default: return 4;
    }
}

// Elements from number `at` on that have one scale, or scales that follow each
// other: how many, and where the scales begin.
static size_t grid_stretch(const nacre_quant_grid *g, size_t at, size_t *scale, size_t *step) {
    const size_t i = at % g->inner, a = at / g->inner % g->axis, o = at / g->inner / g->axis;
    *scale = o * g->per_outer + a / g->block * g->per_axis + i * g->per_inner;
    *step = g->per_inner;
    if (g->per_inner != 0) return g->inner - i;
    if (g->inner == 1 && g->block == 1 && g->per_axis == 1) {
        *step = 1;
        return g->axis - a;
    }
    const size_t end = quant_least((a / g->block + 1) * g->block, g->axis);
    return (end - a) * g->inner - i;
}

static void grid_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const grid_job *const j = job;
    const size_t total = j->grid.outer * j->grid.axis * j->grid.inner, size = quant_size(j->codes.type);
    const size_t end = quant_least(total, (chunk + 1) * QUANT_CHUNK);
    for (size_t at = chunk * QUANT_CHUNK; at < end;) {
        size_t scale, step;
        const size_t n = quant_least(grid_stretch(&j->grid, at, &scale, &step), end - at);
        if (j->back) {
            j->impl->dequantize(j->codes.type, (const char *)j->x + at * size, j->scale + scale, j->zero + scale, step, n,
                                (float *)j->y + at);
        } else {
            j->impl->quantize(&j->codes, (const float *)j->x + at, j->scale + scale, j->zero + scale, step, n, (char *)j->y + at * size);
        }
        at += n;
    }
}

void nacre_quantize(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_grid *grid, const nacre_quant_codes *t,
                    const float *x, const float *scale, const int32_t *zero, void *y) {
    grid_job j = {impl, *grid, *t, 0, x, scale, zero, y};
    nacre_parallel(team, quant_chunks(grid->outer * grid->axis * grid->inner), grid_chunk, &j);
}

void nacre_dequantize(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_grid *grid, nacre_quant_type type,
                      const void *x, const float *scale, const int32_t *zero, float *y) {
    grid_job j = {impl, *grid, {.type = type}, 1, x, scale, zero, y};
    nacre_parallel(team, quant_chunks(grid->outer * grid->axis * grid->inner), grid_chunk, &j);
}

// ---- dynamic ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    const float *x;
    size_t n;
    float *ranges;  // of each thread: its least and its greatest
} range_job;

static void range_chunk(void *job, size_t chunk, size_t thread) {
    const range_job *const j = job;
    const size_t at = chunk * QUANT_CHUNK;
    j->impl->range(j->x + at, quant_least(QUANT_CHUNK, j->n - at), &j->ranges[2 * thread], &j->ranges[2 * thread + 1]);
}

void nacre_quantize_dynamic(const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n, const float *x, uint8_t *y, float *scale,
                            uint8_t *zero, float *scratch) {
    const size_t threads = nacre_team_threads(team);
    for (size_t t = 0; t < 2 * threads; t++) scratch[t] = 0;
    range_job j = {impl, x, n, scratch};
    nacre_parallel(team, quant_chunks(n), range_chunk, &j);
    float low = 0, high = 0;
    for (size_t t = 0; t < threads; t++) {
        if (scratch[2 * t] < low) low = scratch[2 * t];
        if (scratch[2 * t + 1] > high) high = scratch[2 * t + 1];
    }
    *scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float offset = -low / *scale;
    *zero = (uint8_t)(offset > 0 ? offset < 255 ? rintf(offset) : 255 : 0);
    const nacre_quant_grid grid = {1, n, 1, n == 0 ? 1 : n, 0, 0, 0};
    const nacre_quant_codes codes = {NACRE_QUANT_U8, 0, 255, NACRE_FLOAT32};
    const int32_t z = *zero;
    nacre_quantize(impl, team, &grid, &codes, x, scale, &z, y);
}

// ---- pairs ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    const nacre_quant_pair *p;
    size_t rank, run, per_chunk, lines;
    const size_t *axes;
    const uint8_t *a, *b;
    uint8_t *c;
} pairs_job;

// Lines along the innermost axis; a chunk is some lines, or a part of one.
static void pairs_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const pairs_job *const j = job;
    const size_t outer = j->rank - 1, *const a_step = j->axes + j->rank, *const b_step = a_step + j->rank;
    const size_t end = quant_least(j->lines * j->run, (chunk + 1) * j->per_chunk);
    for (size_t at = chunk * j->per_chunk; at < end;) {
        const size_t in = at % j->run, n = quant_least(j->run - in, end - at);
        size_t a = in * a_step[outer], b = in * b_step[outer], index = at / j->run;
        for (size_t d = outer; d-- > 0;) {
            a += index % j->axes[d] * a_step[d];
            b += index % j->axes[d] * b_step[d];
            index /= j->axes[d];
        }
        j->impl->pair(j->p, j->a + a, a_step[outer], j->b + b, b_step[outer], n, j->c + at);
        at += n;
    }
}

void nacre_quant_pairs(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_pair *p, size_t rank,
                       const size_t *axes, const uint8_t *a, const uint8_t *b, uint8_t *c) {
    pairs_job j = {impl, p, rank, axes[rank - 1], QUANT_CHUNK, 1, axes, a, b, c};
    for (size_t d = 0; d + 1 < rank; d++) j.lines *= axes[d];
    nacre_parallel(team, quant_chunks(j.lines * j.run), pairs_chunk, &j);
}
