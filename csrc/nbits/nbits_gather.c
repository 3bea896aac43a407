// Kernel rows f32_columns and nbits_gather: columns of floats in another order, and decoded slices
// of codes.
#include "nbits/nbits.h"

#include <string.h>

enum {
    GATHER_CHUNK = 1 << 14,  // elements that a thread takes at a time
    GATHER_BLOCK = 1 << 9    // elements decoded at a time
};

// ---- columns ----

typedef struct {
    const nacre_columns_words *w;
    const float *a;
    const int32_t *order;
    float *y;
} columns_job;

static void columns_chunk(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const columns_job *const j = arg;
    const float *const a = j->a + chunk * (size_t)j->w->k;
    float *const y = j->y + chunk * (size_t)j->w->columns;
    for (size_t p = 0; p < (size_t)j->w->columns; p++) y[p] = j->order[p] < 0 ? 0.0f : a[j->order[p]];
}

static void columns_command(const nacre_call *c) {
    columns_job job = {(const void *)c->words, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2)};
    nacre_parallel(c->team, (size_t)job.w->m, columns_chunk, &job);
}

const nacre_entry nacre_nbits_columns_entry = {.words = sizeof(nacre_columns_words) / 8, .operands = 3, .run = columns_command};

// ---- slices ----

typedef struct {
    const nacre_nbits_gather_words *w;
    const nacre_half *half;
    const uint8_t *data, *zeros;
    const void *indices, *scales;
    const float *table;
    char *y;
} gather_job;

// Decodes n numbers of codes in one row of data, from element first on: applies zero points and
// scales.
static void gather_scale(const gather_job *j, size_t first, size_t n, float *x) {
    const nacre_nbits_gather_words *const w = j->w;
    const size_t last = (size_t)w->rank - 1, axis = (size_t)w->axis, block = (size_t)w->block;
    const int64_t *const steps = w->dims + w->rank;
    const size_t width = (size_t)w->dims[last], step = (size_t)steps[last], col = first % width;
    size_t base = 0, row = first / width;
    for (size_t a = last; a-- > 0; row /= (size_t)w->dims[a]) {
        const size_t i = row % (size_t)w->dims[a];
        base += (a == axis ? i / block : i) * (size_t)steps[a];
    }
    for (size_t i = 0; i < n;) {
        size_t count = step == 0 ? n - i : 1, at = base + (col + i) * step;
        if (axis == last) {
            count = nacre_min(block - (col + i) % block, n - i);
            at = base + (col + i) / block * step;
        }
        const float scale = nacre_nbits_float(j->scales, (nacre_dtype)w->type, at);
        float zero = (float)w->middle;
        if (j->zeros != NULL) {
            const size_t rows = (size_t)w->scale_row;
            zero = j->table[nacre_nbits_code(j->zeros, at / rows * (size_t)w->zero_row + at % rows, (size_t)w->bits)];
        }
        NACRE_SIMD for (size_t k = i; k < i + count; k++) x[k] = (x[k] - zero) * scale;
        i += count;
    }
}

// Returns the position along the axis of index i, or -1.
static int64_t gather_pick(const gather_job *j, size_t i) {
    const int64_t extent = j->w->extent;
    int64_t v = j->w->index_bytes == 4 ? ((const int32_t *)j->indices)[i] : ((const int64_t *)j->indices)[i];
    if (v < 0) v += extent;
    return v < 0 || v >= extent ? -1 : v;
}

static void gather_chunk(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const gather_job *const j = arg;
    const nacre_nbits_gather_words *const w = j->w;
    const size_t inner = (size_t)w->inner, picks = (size_t)w->picks, width = (size_t)w->dims[w->rank - 1];
    const size_t bytes = w->type == NACRE_DTYPE_f32 ? sizeof(float) : sizeof(uint16_t);
    const size_t end = nacre_min((chunk + 1) * GATHER_CHUNK, (size_t)w->outer * picks * inner);
    float x[GATHER_BLOCK];
    for (size_t at = chunk * GATHER_CHUNK; at < end;) {
        const size_t r = at % inner, slice = at / inner;
        const int64_t pick = gather_pick(j, slice % picks);
        size_t n = nacre_min(nacre_min(inner - r, end - at), GATHER_BLOCK);
        if (pick < 0) {
            memset(x, 0, n * sizeof *x);
        } else {
            const size_t first = (slice / picks * (size_t)w->extent + (size_t)pick) * inner + r;
            n = nacre_min(n, width - first % width);
            for (size_t i = 0; i < n; i++) x[i] = j->table[nacre_nbits_code(j->data, first + i, (size_t)w->bits)];
            gather_scale(j, first, n, x);
        }
        j->half->narrow[w->type](x, j->y + at * bytes, n);
        at += n;
    }
}

static void gather_command(const nacre_call *c) {
    gather_job job = {
        .w = (const void *)c->words, .data = nacre_operand(c, 0), .indices = nacre_operand(c, 1), .scales = nacre_operand(c, 2),
        .zeros = nacre_operand(c, 3), .table = nacre_operand(c, 4), .y = nacre_operand(c, 5),
    };
    job.half = ((nacre_half_fn *)nacre_part_fn(job.w->half))();
    const size_t n = (size_t)job.w->outer * (size_t)job.w->picks * (size_t)job.w->inner;
    nacre_parallel(c->team, nacre_ceil_div(n, GATHER_CHUNK), gather_chunk, &job);
}

const nacre_entry nacre_nbits_gather_entry = {
    .words = sizeof(nacre_nbits_gather_words) / 8, .operands = 6, .run = gather_command};
