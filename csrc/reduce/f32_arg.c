// Op f32_arg: the positions of the largest or smallest elements. Its command has a kernel row for
// each way to compute it. Tiles of columns take any extents. Short rows, turned into columns, take
// at most NACRE_TURN_ROW elements.
#include "reduce/reduce.h"

enum { ARG_GRAIN = 1 << 15 };  // elements that a chunk reads, at least

int64_t nacre_arg_lane(const float *x, size_t n, size_t stride, int least, int last) {
    float best = x[0];
    size_t at = 0;
    for (size_t k = 1; k < n; k++) {
        const float v = x[k * stride];
        const int same = v == best || (v != v && best != best);
        const int better = best == best && (v != v || (least ? v < best : v > best));
        if (better || (same && last)) {
            best = v;
            at = k;
        }
    }
    return (int64_t)at;
}

void nacre_f32_arg__scalar(const float *x, size_t n, size_t stride, size_t cols, int least, int last, int64_t *out) {
    for (size_t c = 0; c < cols; c++) out[c] = nacre_arg_lane(x + c, n, stride, least, last);
}

typedef struct {
    const nacre_f32_arg_words *w;
    nacre_f32_arg_fn *kernel;
    const float *x;
    int64_t *out;
    size_t n, inner, all, tiles;  // all: tiles in total; tiles: tiles per outer index
    size_t per_chunk;
} arg_job;

// arg_turned searches a chunk of short rows.
static void arg_turned(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const arg_job *const j = job;
    float columns[NACRE_TURN_ROW * NACRE_REDUCE_COLS];
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->all);
    for (size_t t = chunk * j->per_chunk; t < last; t += NACRE_REDUCE_COLS) {
        const size_t rows = nacre_min(NACRE_REDUCE_COLS, last - t);
        nacre_turn(j->x + t * j->n, j->n, rows, columns);
        j->kernel(columns, j->n, NACRE_REDUCE_COLS, rows, j->w->least != 0, j->w->last != 0, j->out + t);
    }
}

// arg_tiles searches a chunk of tiles.
static void arg_tiles(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const arg_job *const j = job;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, j->all);
    for (size_t t = chunk * j->per_chunk; t < last; t++) {
        const size_t o = t / j->tiles, c = t % j->tiles * NACRE_REDUCE_COLS,
            cols = nacre_min(NACRE_REDUCE_COLS, j->inner - c);
        const float *const x = j->x + o * j->n * j->inner + c;
        j->kernel(x, j->n, j->inner, cols, j->w->least != 0, j->w->last != 0, j->out + o * j->inner + c);
    }
}

static void arg_start(const nacre_call *c, nacre_task task) {
    const nacre_f32_arg_words *const w = (const void *)c->words;
    arg_job j = {
        .w = w, .kernel = (nacre_f32_arg_fn *)c->kernel->fn, .x = nacre_operand(c, 0), .out = nacre_operand(c, 1),
        .n = (size_t)w->n, .inner = (size_t)w->inner,
    };
    j.tiles = nacre_ceil_div(j.inner, NACRE_REDUCE_COLS);
    j.all = (size_t)w->outer * j.tiles;
    const size_t tile = j.n * nacre_min(j.inner, NACRE_REDUCE_COLS);
    j.per_chunk = tile >= ARG_GRAIN ? 1 : ARG_GRAIN / nacre_max(tile, 1);
    nacre_parallel(j.all <= j.per_chunk ? NULL : c->team, nacre_ceil_div(j.all, j.per_chunk), task, &j);
}

static int arg_turned_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_f32_arg_words *const w = (const void *)words;
    return w->inner == 1 && w->n <= NACRE_TURN_ROW;
}

static void arg_turned_command(const nacre_call *c) { arg_start(c, arg_turned); }
static void arg_command(const nacre_call *c) { arg_start(c, arg_tiles); }

const nacre_entry nacre_f32_arg_turned_entry = {
    .words = sizeof(nacre_f32_arg_words) / 8, .operands = 2, .run = arg_turned_command, .fits = arg_turned_fits,
};
const nacre_entry nacre_f32_arg_entry = {.words = sizeof(nacre_f32_arg_words) / 8, .operands = 2, .run = arg_command};
