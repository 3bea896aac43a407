#include "reduce/reduce.h"

#include <math.h>

#include "core/target.h"

#define NACRE_KERNEL(op, variant, isa, function) \
    void function(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op_, float *out);
#include "reduce/kernels.inc"
#undef NACRE_KERNEL

const nacre_kernel nacre_reduce_kernels[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "reduce/kernels.inc"
#undef NACRE_KERNEL
};
const size_t nacre_reduce_kernel_count = sizeof nacre_reduce_kernels / sizeof nacre_reduce_kernels[0];

// Elements that a chunk of work should at least read.
enum { REDUCE_GRAIN = 1 << 15 };

typedef struct {
    nacre_f32_reduce_fn kernel;
    const float *x;
    size_t outer, n, inner;
    nacre_reduce_op op;
    double scale;
    float *out;
    size_t tiles;     // of columns per outer index
    size_t per_chunk; // tiles
} reduce_job;

static inline size_t reduce_min(size_t a, size_t b) { return a < b ? a : b; }

static inline double reduce_join(nacre_reduce_op op, double acc, double x) {
    switch (op) {
    case NACRE_REDUCE_PROD: return acc * x;
    case NACRE_REDUCE_MAX: return isnan(acc) || acc > x ? acc : x;
    case NACRE_REDUCE_MIN: return isnan(acc) || acc < x ? acc : x;
    default: return acc + x;
    }
}

// One tile of columns; a single column of a value whose inner extent is 1 is a row.
static void reduce_tile(const reduce_job *j, const float *x, size_t cols, float *out) {
    float part[NACRE_REDUCE_COLS];
    double acc[NACRE_REDUCE_COLS];
    const size_t block = j->inner == 1 ? NACRE_REDUCE_ROW : NACRE_REDUCE_ROWS;
    for (size_t r = 0; r < j->n; r += block) {
        j->kernel(x + r * j->inner, reduce_min(block, j->n - r), j->inner, cols, j->op, part);
        for (size_t c = 0; c < cols; c++) acc[c] = r == 0 ? part[c] : reduce_join(j->op, acc[c], part[c]);
    }
    for (size_t c = 0; c < cols; c++) out[c] = (float)(acc[c] * j->scale);
}

static void reduce_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const reduce_job *j = job;
    const size_t last = reduce_min((chunk + 1) * j->per_chunk, j->outer * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t o = t / j->tiles, c = t % j->tiles * NACRE_REDUCE_COLS;
        reduce_tile(j, j->x + o * j->n * j->inner + c, reduce_min(NACRE_REDUCE_COLS, j->inner - c), j->out + o * j->inner + c);
    }
}

void nacre_f32_reduce(nacre_f32_reduce_fn kernel, nacre_team *team, const float *x, size_t outer, size_t n, size_t inner,
                      nacre_reduce_op op, double scale, float *out) {
    reduce_job j = {kernel, x, outer, n, inner, op, scale, out, 0, 0};
    j.tiles = (inner + NACRE_REDUCE_COLS - 1) / NACRE_REDUCE_COLS;
    const size_t tile = n * reduce_min(inner, NACRE_REDUCE_COLS);
    j.per_chunk = tile >= REDUCE_GRAIN ? 1 : REDUCE_GRAIN / (tile == 0 ? 1 : tile);
    nacre_parallel(team, (outer * j.tiles + j.per_chunk - 1) / j.per_chunk, reduce_task, &j);
}
