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

// gather_number returns the number of the src block for block i of dst. If an index is out of
// range, it fails and returns -1.
static int64_t gather_number(const gather_job *g, size_t i) {
    const nacre_gather_words *const w = g->w;
    const size_t outer = i / (size_t)w->count, tuple = (size_t)w->tuple;
    const size_t first = (w->shared ? i % (size_t)w->count : i) * tuple;
    int64_t n = 0;
    for (size_t a = 0; a < tuple; a++) {
        const int64_t x = copy_index(g->c, g->index, w->index_bytes, first + a, w->extents[a]);
        if (x < 0) return -1;
        n = n * w->extents[a] + x;
    }
    return (int64_t)(outer * g->axis) + n;
}

// gather_each copies whole blocks first..end-1, with one index each that is the same for every o.
static void gather_each(const gather_job *g, size_t first, size_t end) {
    const nacre_gather_words *const w = g->w;
    const size_t count = (size_t)w->count, block = (size_t)w->block;
    size_t outer = first / count, k = first % count;
    for (size_t i = first; i < end; outer++, k = 0) {
        const char *const src = g->src + outer * g->axis * block;
        for (; k < count && i < end; k++, i++) {
            const int64_t n = copy_index(g->c, g->index, w->index_bytes, k, w->extents[0]);
            if (n < 0) return;
            copy_block(g->dst + i * block, src + (size_t)n * block, block);
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
    gather_job g = {c, w, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), 1, (size_t)(w->outer * w->count), 0, 1, 0};
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
static inline int gather_neighbours(const elements_job *g, size_t p, size_t n, int64_t base, size_t width, int64_t bytes) {
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
