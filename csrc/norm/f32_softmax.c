// Command f32_softmax, with a kernel row for each way to compute it. Tiles of columns take any
// extents. Short rows, turned into columns, take at most NACRE_TURN_ROW elements.
#include <string.h>

#include "core/turn.h"
#include "norm/strip.h"

// SOFTMAX_IN_PLACE is the length up to which columns are read in place. Longer columns are copied,
// because their elements may evict each other from the cache if extents are powers of two.
enum { SOFTMAX_IN_PLACE = 8 };

typedef struct {
    nacre_f32_softmax_fn *kernel;
    const void *x;
    void *out;
    norm_type type;
    size_t outer, n, inner;
    bool log;
    float *scratch;
    size_t tiles, per_chunk;
} softmax_job;

// softmax_width returns the elements of each row of a tile in scratch.
static size_t softmax_width(size_t inner) { return nacre_min(inner, NACRE_NORM_COLS); }

static int softmax_in_place(nacre_dtype type, size_t n, size_t inner) {
    return type == NACRE_DTYPE_f32 && (inner == 1 || n <= SOFTMAX_IN_PLACE);
}

static void softmax_tile(const softmax_job *j, size_t at, size_t cols, float *tile) {
    if (softmax_in_place(j->type.type, j->n, j->inner)) {
        j->kernel((const float *)j->x + at, j->n, j->inner, cols, j->log, (float *)j->out + at);
        return;
    }
    const size_t width = softmax_width(j->inner), rows = j->inner == 1 ? 1 : j->n, row = j->inner == 1 ? j->n : cols;
    for (size_t k = 0; k < rows; k++) {
        const float *const x = norm_read(j->type, j->x, at + k * j->inner, row, tile + k * width);
        if (x != tile + k * width) memcpy(tile + k * width, x, row * sizeof(float));
    }
    j->kernel(tile, j->n, width, cols, j->log, tile);
    for (size_t k = 0; k < rows; k++) {
        float *const y = norm_room(j->type, j->out, at + k * j->inner, tile + k * width);
        if (y != tile + k * width) memcpy(y, tile + k * width, row * sizeof(float));
        norm_write(j->type, j->out, at + k * j->inner, row, y);
    }
}

_Static_assert((size_t)NACRE_TURN_COLS <= (size_t)NACRE_NORM_COLS,
               "a kernel takes all the columns that rows are turned into");

// softmax_turned computes a chunk of short rows.
static void softmax_turned(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const softmax_job *const j = job;
    float lines[NACRE_TURN_ROW * NACRE_TURN_COLS], columns[NACRE_TURN_ROW * NACRE_TURN_COLS];
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->outer);
    for (size_t r = chunk * j->per_chunk; r < last; r += NACRE_TURN_COLS) {
        const size_t rows = nacre_min(NACRE_TURN_COLS, last - r), at = r * j->n, count = rows * j->n;
        nacre_turn(norm_read(j->type, j->x, at, count, lines), j->n, rows, columns);
        j->kernel(columns, j->n, NACRE_TURN_COLS, rows, j->log, columns);
        float *const y = norm_room(j->type, j->out, at, lines);
        nacre_turn_back(columns, j->n, rows, y);
        norm_write(j->type, j->out, at, count, y);
    }
}

// softmax_tiles computes a chunk of tiles.
static void softmax_tiles(void *job, size_t chunk, size_t thread) {
    const softmax_job *const j = job;
    float *const tile = j->scratch + thread * nacre_align_floats(j->n * softmax_width(j->inner));
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->outer * j->tiles);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t c = t % j->tiles * NACRE_NORM_COLS;
        softmax_tile(j, t / j->tiles * j->n * j->inner + c, nacre_min(NACRE_NORM_COLS, j->inner - c), tile);
    }
}

static void softmax_start(const nacre_call *c, nacre_task task) {
    const nacre_f32_softmax_words *const w = (const void *)c->words;
    softmax_job j = {
        .kernel = (nacre_f32_softmax_fn *)c->kernel->fn,
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 1),
        .type = norm_type_of(w->type, w->half),
        .outer = (size_t)w->outer,
        .n = (size_t)w->n,
        .inner = (size_t)w->inner,
        .log = w->log != 0,
        .scratch = c->scratch,
    };
    if (j.n == 0) return;
    j.tiles = nacre_ceil_div(j.inner, NACRE_NORM_COLS);
    j.per_chunk = norm_per_chunk(j.n * softmax_width(j.inner));
    nacre_parallel(c->team, nacre_ceil_div(j.outer * j.tiles, j.per_chunk), task, &j);
}

static size_t softmax_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_softmax_words *const w = (const void *)words;
    const size_t n = (size_t)w->n, inner = (size_t)w->inner;
    if (softmax_in_place((nacre_dtype)w->type, n, inner)) return 0;
    return threads * nacre_align_floats(n * softmax_width(inner)) * sizeof(float);
}

static int softmax_turned_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_f32_softmax_words *const w = (const void *)words;
    return w->inner == 1 && w->n <= NACRE_TURN_ROW;
}

static void softmax_turned_command(const nacre_call *c) { softmax_start(c, softmax_turned); }
static void softmax_command(const nacre_call *c) { softmax_start(c, softmax_tiles); }

const nacre_entry nacre_f32_softmax_turned_entry = {
    .words = sizeof(nacre_f32_softmax_words) / 8, .operands = 2, .run = softmax_turned_command,
    .fits = softmax_turned_fits,
};
const nacre_entry nacre_f32_softmax_entry = {
    .words = sizeof(nacre_f32_softmax_words) / 8, .operands = 2, .run = softmax_command, .scratch = softmax_scratch,
};
