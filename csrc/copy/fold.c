// Ops <type>_fold: add windows up into the image that they were cut from. Each element of the image
// adds its terms in the order of the window's elements, so results do not depend on how the work is
// divided.
#include <string.h>

#include "copy/copy.h"
#include "half/half.h"

// FOLD_TILE is the number of image elements summed at a time. They stay in a cache, and
// neighbouring terms are read together. FOLD_GRAIN is the number of additions per chunk.
enum { FOLD_TILE = 32 << 10, FOLD_GRAIN = 64 << 10 };

#define FOLD(name, T)                                                                                                 \
    void name(const void *src, size_t from, void *dst, size_t to, size_t rows, size_t n, size_t step) {               \
        for (size_t r = 0; r < rows; r++) {                                                                           \
            const T *const s = (const T *)src + r * from;                                                             \
            T *const d = (T *)dst + r * to;                                                                           \
            for (size_t i = 0; i < n; i++) d[i * step] = (T)(d[i * step] + s[i]);                                     \
        }                                                                                                             \
    }

FOLD(nacre_f32_fold__scalar, float)
FOLD(nacre_f64_fold__scalar, double)
FOLD(nacre_u8_fold__scalar, uint8_t)
FOLD(nacre_u16_fold__scalar, uint16_t)
FOLD(nacre_u32_fold__scalar, uint32_t)
FOLD(nacre_u64_fold__scalar, uint64_t)

// fold_span is the range of windows that have a given element of their axis inside a tile.
typedef struct {
    size_t first, count;  // windows
    size_t at;            // position of the first one in the tile
} fold_span;

typedef struct {
    const nacre_fold_words *w;
    nacre_fold_axis across, along;  // the last two axes
    size_t outer;                   // axes before them
    nacre_fold_fn *add;
    const nacre_half *half;  // NULL unless elements are 16-bit floats
    nacre_team *team;
    const char *x;
    char *y;
    size_t window, blocks;   // elements per window; windows per plane
    size_t planes;           // images of the last two axes
    size_t rows, cols;       // extents of a tile
    size_t tiles_along;      // tiles side by side
    size_t per_chunk;        // planes per chunk
    char *scratch;
} fold_job;

// fold_room is the scratch of a thread.
typedef struct {
    fold_span *across, *along;  // per element of a window, along each of the last two axes
    float *sums, *terms;        // floats of a tile, and of one row of it; for 16-bit floats
} fold_room;

// fold_axis_of returns axis a, counted from the last. If there is none, it returns an axis with one
// window of one element.
static nacre_fold_axis fold_axis_of(const nacre_fold_words *w, int64_t a) {
    const nacre_fold_axis none = {.image = 1, .window = 1, .blocks = 1, .stride = 1, .dilation = 1, .pad = 0};
    return w->axes > a ? w->list[w->axes - 1 - a] : none;
}

static size_t fold_span_bytes(const nacre_fold_axis *a) {
    return nacre_align_bytes((size_t)a->window * sizeof(fold_span));
}

// fold_tile returns the largest number of elements of a tile.
static size_t fold_tile(const nacre_fold_axis *across, const nacre_fold_axis *along) {
    return nacre_align_floats(nacre_min((size_t)across->image * (size_t)along->image, FOLD_TILE));
}

static size_t fold_room_bytes(const nacre_fold_words *w) {
    const nacre_fold_axis across = fold_axis_of(w, 1), along = fold_axis_of(w, 0);
    const size_t floats = w->half == 0 ? 0 : 2 * fold_tile(&across, &along);
    return fold_span_bytes(&across) + fold_span_bytes(&along) + floats * sizeof(float);
}

static fold_room fold_room_of(const fold_job *j, size_t thread) {
    char *const across = j->scratch + thread * fold_room_bytes(j->w);
    char *const along = across + fold_span_bytes(&j->across);
    float *const sums = (float *)(void *)(along + fold_span_bytes(&j->along));
    float *const terms = sums + fold_tile(&j->across, &j->along);
    return (fold_room){(fold_span *)(void *)across, (fold_span *)(void *)along, sums, terms};
}

// fold_from returns the first window in which the element at offset shift is at x or after it.
static size_t fold_from(int64_t x, int64_t shift, const nacre_fold_axis *a) {
    return x <= shift ? 0 : nacre_min(nacre_strides((size_t)(x - shift), (size_t)a->stride), (size_t)a->blocks);
}

static void fold_spans(const nacre_fold_axis *a, size_t from, size_t n, fold_span *spans) {
    for (int64_t e = 0; e < a->window; e++) {
        const int64_t shift = e * a->dilation - a->pad;
        const size_t first = fold_from((int64_t)from, shift, a), last = fold_from((int64_t)(from + n), shift, a);
        const size_t at = first < last ? (size_t)((int64_t)first * a->stride + shift) - from : 0;
        spans[e] = (fold_span){first, last - first, at};
    }
}

// fold_add adds the elements of the last two axes that are in a tile. Elements are numbered from
// element on, windows from block on.
static void fold_add(const fold_job *j, const fold_room *room, const char *plane, size_t element, size_t block,
                     char *dst) {
    const size_t width = (size_t)j->w->width, pitch = (size_t)j->along.image, blocks = (size_t)j->along.blocks;
    const size_t step = (size_t)j->along.stride, down = (size_t)j->across.stride;
    for (size_t e = 0; e < (size_t)j->across.window; e++) {
        const fold_span a = room->across[e];
        if (a.count == 0) continue;
        for (size_t f = 0; f < (size_t)j->along.window && !nacre_stopped(j->team); f++) {
            const fold_span s = room->along[f];
            if (s.count == 0) continue;
            const size_t number = element + e * (size_t)j->along.window + f;
            const char *const src = plane + (number * j->blocks + block + a.first * blocks + s.first) * width;
            if (j->half == NULL) {
                j->add(src, blocks, dst + (a.at * pitch + s.at) * width, down * pitch, a.count, s.count, step);
                continue;
            }
            for (size_t r = 0; r < a.count; r++) {
                j->half->widen[j->w->type](src + r * blocks * width, room->terms, s.count);
                j->add(room->terms, 0, room->sums + (a.at + r * down) * j->cols + s.at, 0, 1, s.count, step);
            }
        }
    }
}

// fold_axes adds all terms of a tile of the image, at index `at` of the outer axes. It goes through
// axis a and the axes after it; element and block are the indices of the axes before.
static void fold_axes(const fold_job *j, const fold_room *room, const char *plane, const int64_t *at, size_t a,
                      size_t element, size_t block, char *dst) {
    if (a == j->outer) {
        const int64_t elements = j->across.window * j->along.window, blocks = j->across.blocks * j->along.blocks;
        fold_add(j, room, plane, element * (size_t)elements, block * (size_t)blocks, dst);
        return;
    }
    // Elements before the first one would be in windows after the last.
    const nacre_fold_axis *const x = &j->w->list[a];
    const int64_t behind = at[a] + x->pad - (x->blocks - 1) * x->stride;
    const int64_t least = behind <= 0 ? 0 : (int64_t)nacre_ceil_div((size_t)behind, (size_t)x->dilation);
    for (int64_t e = least; e < x->window; e++) {
        const int64_t from = at[a] + x->pad - e * x->dilation, b = from / x->stride;
        if (from < 0) return;
        if (b * x->stride != from || b >= x->blocks) continue;
        fold_axes(j, room, plane, at, a + 1, element * (size_t)x->window + (size_t)e,
                  block * (size_t)x->blocks + (size_t)b, dst);
    }
}

static void fold_task(void *arg, size_t chunk, size_t thread) {
    const fold_job *const j = arg;
    const nacre_fold_words *const w = j->w;
    const size_t chunks = nacre_ceil_div(j->planes, j->per_chunk);
    const size_t width = (size_t)w->width, pitch = (size_t)j->along.image;
    const size_t tile = chunk / chunks, row = tile / j->tiles_along * j->rows, col = tile % j->tiles_along * j->cols;
    const size_t rows = nacre_min(j->rows, (size_t)j->across.image - row), cols = nacre_min(j->cols, pitch - col);
    const size_t first = chunk % chunks * j->per_chunk, last = nacre_chunk_end(first, j->per_chunk, j->planes);
    const fold_room room = fold_room_of(j, thread);
    fold_spans(&j->across, row, rows, room.across);
    fold_spans(&j->along, col, cols, room.along);
    for (size_t p = first; p < last; p++) {
        int64_t at[NACRE_COPY_AXES];
        size_t plane = p;
        for (size_t a = j->outer; a-- > 0;) {
            at[a] = (int64_t)(plane % (size_t)w->list[a].image);
            plane /= (size_t)w->list[a].image;
        }
        char *const dst = j->y + ((p * (size_t)j->across.image + row) * pitch + col) * width;
        if (j->half != NULL) {
            memset(room.sums, 0, rows * j->cols * sizeof(float));
        } else {
            for (size_t r = 0; r < rows; r++) memset(dst + r * pitch * width, 0, cols * width);
        }
        fold_axes(j, &room, j->x + plane * j->window * j->blocks * width, at, 0, 0, 0, dst);
        if (j->half == NULL) continue;
        for (size_t r = 0; r < rows; r++) {
            j->half->narrow[w->type](room.sums + r * j->cols, dst + r * pitch * width, cols);
        }
    }
}

static void fold_run(const nacre_call *c) {
    const nacre_fold_words *const w = (const void *)c->words;
    fold_job j = {
        .w = w,
        .across = fold_axis_of(w, 1),
        .along = fold_axis_of(w, 0),
        .outer = w->axes < 2 ? 0 : (size_t)w->axes - 2,
        .add = (nacre_fold_fn *)c->kernel->fn,
        .half = w->half == 0 ? NULL : ((nacre_half_fn *)nacre_part_fn(w->half))(),
        .team = c->team,
        .x = nacre_operand(c, 0),
        .y = nacre_operand(c, 1),
        .window = 1,
        .blocks = 1,
        .planes = (size_t)w->planes,
        .scratch = c->scratch,
    };
    size_t terms = 1;  // terms per element of the image, about
    for (size_t a = 0; a < (size_t)w->axes; a++) {
        j.window *= (size_t)w->list[a].window;
        j.blocks *= (size_t)w->list[a].blocks;
        if (a < j.outer) j.planes *= (size_t)w->list[a].image;
        terms *= nacre_ceil_div((size_t)w->list[a].window, (size_t)w->list[a].stride);
    }
    j.cols = nacre_max(1, nacre_min((size_t)j.along.image, FOLD_TILE));
    j.rows = nacre_max(1, nacre_min((size_t)j.across.image, FOLD_TILE / j.cols));
    j.tiles_along = nacre_ceil_div((size_t)j.along.image, j.cols);
    j.per_chunk = nacre_max(1, FOLD_GRAIN / nacre_max(1, j.rows * j.cols * terms));
    const size_t tiles = nacre_ceil_div((size_t)j.across.image, j.rows) * j.tiles_along;
    nacre_parallel(c->team, nacre_ceil_div(j.planes, j.per_chunk) * tiles, fold_task, &j);
}

static int fold_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const int64_t axes = ((const nacre_fold_words *)(const void *)words)->axes;
    return axes > 0 && axes <= NACRE_COPY_AXES;
}

static size_t fold_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return threads * fold_room_bytes((const void *)words);
}

const nacre_entry nacre_fold_entry = {
    .words = sizeof(nacre_fold_words) / 8, .operands = 2, .run = fold_run, .fits = fold_fits, .scratch = fold_scratch,
};
