// Command f32_reduce, with a kernel row for each way to compute it. Tiles of columns take any
// reduction. Short rows, turned into columns, take at most NACRE_TURN_ROW elements and no
// exponentials.
#include <math.h>

#include "core/simd.h"
#include "half/half.h"
#include "reduce/reduce.h"

// REDUCE_GRAIN is the least number of elements that a chunk reads.
enum { REDUCE_GRAIN = 1 << 15 };

// REDUCE_ROOM is the number of floats of scratch per thread. They hold a block of widened 16-bit
// elements, or the exponentials of a block.
enum { REDUCE_ROOM = NACRE_REDUCE_ROWS * NACRE_REDUCE_COLS };

typedef struct {
    nacre_f32_reduce_fn *kernel;
    const nacre_half *half;
    nacre_dtype x_type, out_type;
    const void *x;
    void *out;
    size_t outer, n, inner;
    nacre_reduce_op op;
    nacre_reduce_root root;
    double scale;
    float *scratch;    // REDUCE_ROOM floats per thread, if x is 16-bit or exp is set
    void (*exp)(const void *x, void *y, size_t n, const void *params);  // or NULL
    size_t tiles;      // tiles of columns per outer index
    size_t per_chunk;  // tiles per chunk
    nacre_team *team;
} reduce_job;

static inline double reduce_join(nacre_reduce_op op, double acc, double x) {
    switch (op) {
    case NACRE_REDUCE_PROD: return acc * x;
    case NACRE_REDUCE_MAX: return isnan(acc) || acc > x ? acc : x;
    case NACRE_REDUCE_MIN: return isnan(acc) || acc < x ? acc : x;
    default: return acc + x;
    }
}

static inline double reduce_of_nothing(nacre_reduce_op op) {
    switch (op) {
    case NACRE_REDUCE_PROD: return 1;
    case NACRE_REDUCE_MAX: return -INFINITY;
    case NACRE_REDUCE_MIN: return INFINITY;
    default: return 0;
    }
}

// reduce_block sets out to op over rows x cols elements of x. The first one is element `at`.
static void reduce_block(const reduce_job *j, nacre_reduce_op op, size_t at, size_t rows, size_t cols, float *room,
                         float *out) {
    if (j->x_type == NACRE_DTYPE_f32) {
        j->kernel((const float *)j->x + at, rows, j->inner, cols, op, out);
        return;
    }
    const uint16_t *const x = (const uint16_t *)j->x + at;
    if (j->inner == 1) {
        j->half->widen[j->x_type](x, room, rows);
        j->kernel(room, rows, 1, 1, op, out);
        return;
    }
    for (size_t r = 0; r < rows; r++) j->half->widen[j->x_type](x + r * j->inner, room + r * NACRE_REDUCE_COLS, cols);
    j->kernel(room, rows, NACRE_REDUCE_COLS, cols, op, out);
}

// reduce_exp_block sets out to the sums over rows of exp(x - shift), for cols columns.
static void reduce_exp_block(const reduce_job *j, size_t at, size_t rows, size_t cols, const float *shift, float *room,
                             float *out) {
    const float none[2] = {0, 0};
    const int line = j->inner == 1;
    for (size_t r = 0; r < (line ? 1 : rows); r++) {
        const size_t n = line ? rows : cols, from = at + r * j->inner;
        float *const to = room + r * cols;
        const float *x = (const float *)j->x + from;
        if (j->x_type != NACRE_DTYPE_f32) {
            j->half->widen[j->x_type]((const uint16_t *)j->x + from, to, n);
            x = to;
        }
        if (line) {
            const float least = shift[0];
            NACRE_SIMD for (size_t i = 0; i < n; i++) to[i] = x[i] - least;
        } else {
            NACRE_SIMD for (size_t i = 0; i < n; i++) to[i] = x[i] - shift[i];
        }
    }
    j->exp(room, room, rows * cols, none);
    j->kernel(room, rows, line ? 1 : cols, cols, NACRE_REDUCE_SUM, out);
}

// reduce_roots sets out to root(acc * scale).
static void reduce_roots(const reduce_job *j, const double *acc, size_t cols, float *out) {
    NACRE_SIMD for (size_t c = 0; c < cols; c++) out[c] = (float)(acc[c] * j->scale);
    if (j->root == NACRE_REDUCE_SQRT) {
        for (size_t c = 0; c < cols; c++) out[c] = (float)sqrt(out[c]);
    } else if (j->root == NACRE_REDUCE_LOG) {
        for (size_t c = 0; c < cols; c++) out[c] = (float)log(out[c]);
    }
}

// reduce_over sets acc to op over a tile of x. If shift is given, it reduces exp(x - shift)
// instead.
static void reduce_over(const reduce_job *j, nacre_reduce_op op, size_t from, size_t cols, const float *shift,
                        float *room, double *acc) {
    float part[NACRE_REDUCE_COLS];
    const size_t block = j->inner == 1 ? NACRE_REDUCE_ROW : NACRE_REDUCE_ROWS;
    const double nothing = reduce_of_nothing(op);
    NACRE_SIMD for (size_t c = 0; c < cols; c++) acc[c] = nothing;
    for (size_t r = 0; r < j->n && !nacre_stopped(j->team); r += block) {
        const size_t at = from + r * j->inner, rows = nacre_min(block, j->n - r);
        if (shift != NULL) {
            reduce_exp_block(j, at, rows, cols, shift, room, part);
        } else {
            reduce_block(j, op, at, rows, cols, room, part);
        }
        if (r == 0) {
            NACRE_SIMD for (size_t c = 0; c < cols; c++) acc[c] = part[c];
        } else {
            for (size_t c = 0; c < cols; c++) acc[c] = reduce_join(op, acc[c], part[c]);
        }
    }
}

// reduce_store stores n results from element `to` of out on, in the output's type.
static void reduce_store(const reduce_job *j, const float *part, size_t n, size_t to) {
    if (j->out_type == NACRE_DTYPE_f32) {
        NACRE_SIMD for (size_t c = 0; c < n; c++) ((float *)j->out)[to + c] = part[c];
    } else {
        j->half->narrow[j->out_type](part, (uint16_t *)j->out + to, n);
    }
}

// reduce_rows reduces up to NACRE_REDUCE_COLS short rows, turned into columns.
static void reduce_rows(const reduce_job *j, size_t first, size_t rows, float *room) {
    float columns[NACRE_TURN_ROW * NACRE_REDUCE_COLS], part[NACRE_REDUCE_COLS];
    double acc[NACRE_REDUCE_COLS];
    if (j->n == 0) {
        for (size_t r = 0; r < rows; r++) part[r] = (float)reduce_of_nothing(j->op);
    } else {
        const float *x = (const float *)j->x + first * j->n;
        if (j->x_type != NACRE_DTYPE_f32) {
            j->half->widen[j->x_type]((const uint16_t *)j->x + first * j->n, room, rows * j->n);
            x = room;
        }
        nacre_turn(x, j->n, rows, columns);
        j->kernel(columns, j->n, NACRE_REDUCE_COLS, rows, j->op, part);
    }
    NACRE_SIMD for (size_t r = 0; r < rows; r++) acc[r] = part[r];
    reduce_roots(j, acc, rows, part);
    reduce_store(j, part, rows, first);
}

// reduce_tile reduces one tile of columns. If the inner extent is 1, the tile is one row of n
// elements.
static void reduce_tile(const reduce_job *j, size_t from, size_t cols, float *room, size_t to) {
    float part[NACRE_REDUCE_COLS], shift[NACRE_REDUCE_COLS] = {0};
    double acc[NACRE_REDUCE_COLS];
    if (j->exp == NULL) {
        reduce_over(j, j->op, from, cols, NULL, room, acc);
        reduce_roots(j, acc, cols, part);
    } else {
        reduce_over(j, NACRE_REDUCE_MAX, from, cols, NULL, room, acc);
        for (size_t c = 0; c < cols; c++) shift[c] = isfinite(acc[c]) ? (float)acc[c] : 0;
        reduce_over(j, NACRE_REDUCE_SUM, from, cols, shift, room, acc);
        for (size_t c = 0; c < cols; c++) part[c] = (float)(log(acc[c]) + shift[c]);
    }
    reduce_store(j, part, cols, to);
}

// reduce_turned reduces a chunk of short rows.
static void reduce_turned(void *job, size_t chunk, size_t thread) {
    const reduce_job *const j = job;
    float *const room = j->scratch + thread * REDUCE_ROOM;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->outer);
    for (size_t t = chunk * j->per_chunk; t < last; t += NACRE_REDUCE_COLS) {
        reduce_rows(j, t, nacre_min(NACRE_REDUCE_COLS, last - t), room);
    }
}

// reduce_tiles reduces a chunk of tiles.
static void reduce_tiles(void *job, size_t chunk, size_t thread) {
    const reduce_job *const j = job;
    float *const room = j->scratch + thread * REDUCE_ROOM;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->outer * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t o = t / j->tiles, c = t % j->tiles * NACRE_REDUCE_COLS;
        reduce_tile(j, o * j->n * j->inner + c, nacre_min(NACRE_REDUCE_COLS, j->inner - c), room, o * j->inner + c);
    }
}

static void reduce_start(const nacre_call *c, nacre_task task) {
    const nacre_f32_reduce_words *const w = (const void *)c->words;
    reduce_job j = {
        .kernel = (nacre_f32_reduce_fn *)c->kernel->fn,
        .half = w->half == 0 ? NULL : ((nacre_half_fn *)nacre_part_fn(w->half))(),
        .x_type = (nacre_dtype)w->x_type,
        .out_type = (nacre_dtype)w->out_type,
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 1),
        .outer = (size_t)w->outer,
        .n = (size_t)w->n,
        .inner = (size_t)w->inner,
        .op = (nacre_reduce_op)w->op,
        .root = (nacre_reduce_root)w->root,
        .scale = 1 / (double)w->divisor,
        .scratch = c->scratch,
        .exp = (void (*)(const void *, void *, size_t, const void *))nacre_part_fn(w->exp),
        .team = c->team,
    };
    j.tiles = nacre_ceil_div(j.inner, NACRE_REDUCE_COLS);
    const size_t tile = j.n * nacre_min(j.inner, NACRE_REDUCE_COLS);
    j.per_chunk = tile >= REDUCE_GRAIN ? 1 : REDUCE_GRAIN / (tile == 0 ? 1 : tile);
    nacre_parallel(c->team, nacre_ceil_div(j.outer * j.tiles, j.per_chunk), task, &j);
}

static size_t reduce_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_reduce_words *const w = (const void *)words;
    return w->x_type == NACRE_DTYPE_f32 && w->exp == 0 ? 0 : threads * REDUCE_ROOM * sizeof(float);
}

static int reduce_turned_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_f32_reduce_words *const w = (const void *)words;
    return w->inner == 1 && w->n <= NACRE_TURN_ROW && w->exp == 0;
}

static void reduce_turned_command(const nacre_call *c) { reduce_start(c, reduce_turned); }
static void reduce_command(const nacre_call *c) { reduce_start(c, reduce_tiles); }

const nacre_entry nacre_f32_reduce_turned_entry = {
    .words = sizeof(nacre_f32_reduce_words) / 8, .operands = 2, .run = reduce_turned_command,
    .fits = reduce_turned_fits, .scratch = reduce_scratch,
};
const nacre_entry nacre_f32_reduce_entry = {
    .words = sizeof(nacre_f32_reduce_words) / 8, .operands = 2, .run = reduce_command, .scratch = reduce_scratch,
};
