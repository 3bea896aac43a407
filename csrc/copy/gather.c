// Ops gather and gather_elements: blocks and elements by index.
#include "copy/index.h"

// gather_job copies each block in pieces, so that chunks of large blocks are not too long.
typedef struct {
    const nacre_call *c;
    const nacre_gather_words *w;
    const char *src;
    const void *index;
    char *dst;
    size_t axis;                    // blocks of src per o
    size_t total, piece, pieces;    // blocks of dst; bytes of a piece; pieces of a block
    size_t per_chunk;               // pieces per chunk
} gather_job;

// gather_index returns index i into an axis, or -1 after ending the run.
static int64_t gather_index(const gather_job *g, size_t i, int64_t extent) {
    const int64_t given = copy_integer(g->index, g->w->index_bytes, i);
    if (given >= 0 || !g->w->forward) return copy_index(g->c, g->index, g->w->index_bytes, i, extent);
    nacre_fail(g->c, NACRE_FAILED_index_below, (int64_t)i, given, extent - 1, 0);
    return -1;
}

// gather_number returns the number of the src block for block i of dst. If an index is out of
// range, it fails and returns -1.
static int64_t gather_number(const gather_job *g, size_t i) {
    const nacre_gather_words *const w = g->w;
    const size_t outer = i / (size_t)w->count, tuple = (size_t)w->tuple;
    const size_t first = (w->shared ? i % (size_t)w->count : i) * tuple;
    int64_t n = 0;
    for (size_t a = 0; a < tuple; a++) {
        const int64_t x = gather_index(g, first + a, w->extents[a]);
        if (x < 0) return -1;
        n = n * w->extents[a] + x;
    }
    return (int64_t)(outer * g->axis) + n;
}

// GATHER_AHEAD is the number of indices that gather_each checks at a time, and GATHER_FETCH how
// many rows gather_rows fetches ahead.
enum { GATHER_AHEAD = 256, GATHER_FETCH = 16 };

// gather_rows copies blocks at[0..n-1] of each row of src. Rows are `row` bytes long.
static inline void gather_rows(const char *src, size_t rows, size_t row, const size_t *at, size_t n,
                               size_t block, char *dst) {
    for (size_t r = 0; r < rows; r++, src += row) {
        for (size_t i = 0; i < n; i++, dst += block) {
            copy_block(dst, src + at[i] * block, block);
            if (block <= 8) __builtin_prefetch(src + at[i] * block + GATHER_FETCH * row);
        }
    }
}

// gather_check stores the numbers of the blocks of indices k..k+n-1. If an index is out of range,
// it fails and returns 0.
static int gather_check(const gather_job *g, size_t k, size_t n, size_t *at) {
    const int64_t extent = g->w->extents[0], below = g->w->forward ? 0 : extent;
    for (size_t i = 0; i < n; i++) {
        const int64_t given = copy_integer(g->index, g->w->index_bytes, k + i), x = given < 0 ? given + below : given;
        if ((uint64_t)x >= (uint64_t)extent) return gather_index(g, k + i, extent) >= 0;
        at[i] = (size_t)x;
    }
    return 1;
}

// gather_each copies whole blocks first..end-1, with one index each that is the same for every o.
// It checks short lists of indices once for all o.
static void gather_each(const gather_job *g, size_t first, size_t end) {
    const size_t count = (size_t)g->w->count, block = (size_t)g->w->block, row = g->axis * block;
    size_t at[GATHER_AHEAD];
    for (size_t i = first, n, rows; i < end; i += n * rows) {
        const size_t k = i % count;
        n = nacre_min(nacre_min(count - k, end - i), GATHER_AHEAD);
        rows = n == count ? (end - i) / count : 1;
        if (!gather_check(g, k, n, at)) return;
        const char *const src = g->src + i / count * row;
        char *const dst = g->dst + i * block;
        switch (block) {
        case 4: gather_rows(src, rows, row, at, n, 4, dst); break;
        case 8: gather_rows(src, rows, row, at, n, 8, dst); break;
        default: gather_rows(src, rows, row, at, n, block, dst);
        }
    }
}

static void gather_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const gather_job *const g = arg;
    const size_t block = (size_t)g->w->block, end = nacre_min((chunk + 1) * g->per_chunk, g->total * g->pieces);
    if (g->pieces == 1 && g->w->tuple == 1 && g->w->shared) {
        gather_each(g, chunk * g->per_chunk, end);
        return;
    }
    for (size_t at = chunk * g->per_chunk; at < end; at++) {
        const size_t i = at / g->pieces, from = at % g->pieces * g->piece;
        const int64_t n = gather_number(g, i);
        if (n < 0) return;
        copy_block(g->dst + i * block + from, g->src + (size_t)n * block + from, nacre_min(g->piece, block - from));
    }
}

static void gather_run(const nacre_call *c) {
    const nacre_gather_words *const w = (const void *)c->words;
    gather_job g = {c, w, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), 1,
                    (size_t)(w->outer * w->count), 0, 1, 0};
    const size_t block = (size_t)w->block;
    if (g.total == 0) return;
    for (int64_t a = 0; a < w->tuple; a++) g.axis *= (size_t)w->extents[a];
    g.piece = nacre_min(nacre_max(block, 1), COPY_CHUNK_BYTES);
    g.pieces = nacre_max(nacre_ceil_div(block, g.piece), 1);
    g.per_chunk = nacre_max(1, COPY_CHUNK_BYTES / nacre_max(g.piece, 8));
    nacre_team team = *c->team;
    if (g.total * nacre_max(block, 8) < 4 * COPY_CHUNK_BYTES) team.pool = NULL;
    nacre_parallel(&team, nacre_ceil_div(g.total * g.pieces, g.per_chunk), gather_task, &g);
}

const nacre_entry nacre_gather_entry = {.words = sizeof(nacre_gather_words) / 8, .operands = 3, .run = gather_run};

// ELEMENTS_PER_CHUNK is the number of elements per chunk.
enum { ELEMENTS_PER_CHUNK = 8 << 10 };

typedef struct {
    const nacre_call *c;
    const nacre_elements_words *w;
    const char *src;
    const void *index;
    char *dst;
    size_t total;
} elements_job;

// gather_neighbours gathers elements p..p+n-1, neighbours along the last axis. If an index is out
// of range, it fails and returns 0. Writes through dst may alias g, so the loop reads local copies.
static inline int gather_neighbours(const elements_job *g, size_t p, size_t n, int64_t base, size_t width,
                                    int64_t bytes) {
    const nacre_elements_words *const w = g->w;
    const int64_t step = w->axes == 0 ? 0 : w->list[2 * w->axes - 1], along = w->along, extent = w->extent;
    const void *const index = g->index;
    const char *const src = g->src;
    char *const dst = g->dst;
    for (size_t i = p; i < p + n; i++, base += step) {
        const int64_t given = copy_integer(index, bytes, i), x = given + (given < 0 ? extent : 0);
        if ((uint64_t)x >= (uint64_t)extent) return copy_index(g->c, index, bytes, i, extent) >= 0;
        copy_block(dst + i * width, src + (size_t)(base + x * along) * width, width);
    }
    return 1;
}

static void gather_elements_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const elements_job *const g = arg;
    const nacre_elements_words *const w = g->w;
    const size_t axes = (size_t)w->axes, row = axes == 0 ? 1 : (size_t)w->list[2 * axes - 2];
    const size_t first = chunk * ELEMENTS_PER_CHUNK, end = nacre_min(first + ELEMENTS_PER_CHUNK, g->total);
    int64_t at[NACRE_COPY_AXES];
    for (size_t p = first, n; p < end; p += n) {
        const int64_t base = copy_odometer(w->list, axes, p, at);
        n = nacre_min(row - p % row, end - p);
        int sound;
        if (w->index_bytes == 8 && w->width == 4) {
            sound = gather_neighbours(g, p, n, base, 4, 8);
        } else if (w->index_bytes == 8 && w->width == 8) {
            sound = gather_neighbours(g, p, n, base, 8, 8);
        } else {
            sound = gather_neighbours(g, p, n, base, (size_t)w->width, w->index_bytes);
        }
        if (!sound) return;
    }
}

static void gather_elements_run(const nacre_call *c) {
    const nacre_elements_words *const w = (const void *)c->words;
    elements_job g = {c, w, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), 1};
    for (int64_t a = 0; a < w->axes; a++) g.total *= (size_t)w->list[2 * a];
    nacre_parallel(c->team, nacre_ceil_div(g.total, ELEMENTS_PER_CHUNK), gather_elements_task, &g);
}

static int elements_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    return ((const nacre_elements_words *)(const void *)words)->axes <= NACRE_COPY_AXES;
}

const nacre_entry nacre_gather_elements_entry = {
    .words = sizeof(nacre_elements_words) / 8, .operands = 3, .run = gather_elements_run, .fits = elements_fits,
};
