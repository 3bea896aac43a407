// Op f32_scan: running sums and products.
#include "core/vec.h"
#include "reduce/reduce.h"

enum {
    SCAN_GRAIN = 1 << 15,  // elements that a chunk reads, at least
    SCAN_LANES = 2,        // lanes summed together; more would compete for sets of the first-level cache
    SCAN_ROWS = 16,        // lanes of a piece, if lanes are rows
    SCAN_LEAST = 64        // columns of a piece are a multiple of this
};

NACRE_INLINE void scan_lanes(size_t lanes, const float *x, size_t n, ptrdiff_t step, size_t lane, int product,
                             int exclusive, float *y) {
    float sums[SCAN_LANES];
    for (size_t l = 0; l < lanes; l++) sums[l] = product ? 1.0f : exclusive ? 0.0f : -0.0f;
    for (size_t k = 0; k < n; k++, x += step, y += step) {
        // Read all lanes before writing any: a processor first takes a load for dependent on an
        // earlier store if their addresses differ by a multiple of 4096.
        float read[SCAN_LANES], before[SCAN_LANES];
        for (size_t l = 0; l < lanes; l++) read[l] = x[l * lane];
        for (size_t l = 0; l < lanes; l++) {
            before[l] = sums[l];
            sums[l] = product ? sums[l] * read[l] : sums[l] + read[l];
        }
        for (size_t l = 0; l < lanes; l++) y[l * lane] = exclusive ? before[l] : sums[l];
    }
}

void nacre_f32_scan__scalar(const float *x, size_t n, ptrdiff_t step, size_t cols, size_t lane, int product,
                            int exclusive, float *y) {
    size_t c = 0;
    for (; c + SCAN_LANES <= cols; c += SCAN_LANES) {
        if (product) {
            scan_lanes(SCAN_LANES, x + c * lane, n, step, lane, 1, exclusive, y + c * lane);
        } else {
            scan_lanes(SCAN_LANES, x + c * lane, n, step, lane, 0, exclusive, y + c * lane);
        }
    }
    for (; c < cols; c++) scan_lanes(1, x + c * lane, n, step, lane, product, exclusive, y + c * lane);
}

typedef struct {
    const nacre_f32_scan_words *w;
    nacre_f32_scan_fn *kernel;
    const float *x;
    float *y;
    size_t n, inner, lanes;      // lanes: outer if inner is 1, else inner
    size_t tile, tiles, all;     // tile: lanes of a piece; tiles: pieces side by side; all: pieces
    size_t per_chunk;
} scan_job;

static void scan_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const scan_job *const j = job;
    const size_t end = nacre_min((chunk + 1) * j->per_chunk, j->all), lane = j->inner == 1 ? j->n : 1;
    const size_t first = j->w->reverse != 0 && j->n > 0 ? (j->n - 1) * j->inner : 0;
    const ptrdiff_t step = j->w->reverse != 0 ? -(ptrdiff_t)j->inner : (ptrdiff_t)j->inner;
    for (size_t t = chunk * j->per_chunk; t < end; t++) {
        const size_t c = t % j->tiles * j->tile, at = t / j->tiles * j->n * j->inner + c * lane + first;
        j->kernel(j->x + at, j->n, step, nacre_min(j->tile, j->lanes - c), lane, j->w->product != 0,
                  j->w->exclusive != 0, j->y + at);
    }
}

static void scan_command(const nacre_call *c) {
    const nacre_f32_scan_words *const w = (const void *)c->words;
    scan_job j = {.w = w, .kernel = (nacre_f32_scan_fn *)c->kernel->fn, .x = nacre_operand(c, 0),
                  .y = nacre_operand(c, 1), .n = (size_t)w->n, .inner = (size_t)w->inner};
    const size_t outer = (size_t)w->outer, threads = nacre_team_threads(c->team);
    j.lanes = j.inner == 1 ? outer : j.inner;
    const size_t blocks = j.inner == 1 ? 1 : outer,
        want = threads < 2 ? 1 : nacre_ceil_div(threads, nacre_max(blocks, 1));
    j.tile = j.inner == 1 ? SCAN_ROWS : nacre_round_up(nacre_ceil_div(j.lanes, want), SCAN_LEAST);
    j.tile = nacre_max(1, nacre_min(j.tile, NACRE_SCAN_COLS));
    j.tiles = nacre_ceil_div(j.lanes, j.tile);
    j.all = blocks * j.tiles;
    const size_t piece = j.n * nacre_min(j.tile, j.lanes);
    j.per_chunk = piece >= SCAN_GRAIN ? 1 : SCAN_GRAIN / nacre_max(piece, 1);
    nacre_parallel(j.all <= j.per_chunk ? NULL : c->team, nacre_ceil_div(j.all, j.per_chunk), scan_chunk, &j);
}

const nacre_entry nacre_f32_scan_entry = {.words = sizeof(nacre_f32_scan_words) / 8, .operands = 2,
                                          .run = scan_command};
