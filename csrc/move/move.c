#include "move/move.h"

#include <string.h>

#include "move/transpose.h"

const nacre_kernel nacre_move_kernels[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "move/kernels.inc"
#undef NACRE_KERNEL
};
const size_t nacre_move_kernel_count = sizeof nacre_move_kernels / sizeof nacre_move_kernels[0];

void nacre_move_transpose(const nacre_kernel *k, const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride,
                          ptrdiff_t dst_stride) {
    ((nacre_transpose_fn)k->fn)(src, dst, rows, cols, src_stride, dst_stride);
}

// What one thread takes at a time, and what one block of a plane amounts to.
enum { MOVE_CHUNK_BYTES = 64 << 10, MOVE_BLOCK_BYTES = 16 << 10 };

static size_t move_min(size_t a, size_t b) { return a < b ? a : b; }
static size_t move_max(size_t a, size_t b) { return a > b ? a : b; }
static size_t move_ceil(size_t a, size_t b) { return a / b + (a % b != 0); }

// Copies m rows of n elements. Steps along a row and from row to row are signed.
typedef void (*plane_fn)(const void *src, void *dst, size_t m, size_t n, const ptrdiff_t *from, const ptrdiff_t *to);

#define MOVE_PLANE(name, T)                                                                                  \
    static void name(const void *src, void *dst, size_t m, size_t n, const ptrdiff_t *from, const ptrdiff_t *to) { \
        const ptrdiff_t fm = from[0], fn = from[1], tm = to[0], tn = to[1];                                  \
        for (size_t i = 0; i < m; i++) {                                                                     \
            const T *const s = (const T *)src + (ptrdiff_t)i * fm;                                           \
            T *const d = (T *)dst + (ptrdiff_t)i * tm;                                                       \
            if (tn == 1 && fn == 1 && n * sizeof(T) > 64) {                                                  \
                memcpy(d, s, n * sizeof(T));                                                                 \
            } else if (tn == 1 && fn == 1) {                                                                 \
                for (size_t j = 0; j < n; j++) d[j] = s[j];                                                  \
            } else if (tn == 1 && fn == 0) {                                                                 \
                const T v = s[0];                                                                            \
                for (size_t j = 0; j < n; j++) d[j] = v;                                                     \
            } else {                                                                                         \
                for (size_t j = 0; j < n; j++) d[(ptrdiff_t)j * tn] = s[(ptrdiff_t)j * fn];                  \
            }                                                                                                \
        }                                                                                                    \
    }

MOVE_PLANE(move_plane_w1, uint8_t)
MOVE_PLANE(move_plane_w2, uint16_t)
MOVE_PLANE(move_plane_w4, uint32_t)
MOVE_PLANE(move_plane_w8, uint64_t)
MOVE_PLANE(move_plane_w16, nacre_w16)

static plane_fn move_plane(size_t width) {
    switch (width) {
        case 1: return move_plane_w1;
        case 2: return move_plane_w2;
        case 4: return move_plane_w4;
        case 8: return move_plane_w8;
        default: return move_plane_w16;
    }
}

// How a box is walked: planes of m x n elements, cut into blocks, for every
// index of the other axes.
typedef struct {
    size_t m, n;                        // extents of the plane
    ptrdiff_t from[2], to[2];           // steps along m, along n
    int transposed;                     // from[0] and to[1] are 1
    size_t block_m, block_n;            // extents of a block
    size_t blocks_m, blocks_n;          // blocks of a plane
    size_t axes;                        // the others, last one fastest
    size_t extent[NACRE_MOVE_AXES];
    ptrdiff_t outer_from[NACRE_MOVE_AXES], outer_to[NACRE_MOVE_AXES];
    size_t unit;                        // elements of a whole block
    size_t units, units_per_chunk;      // blocks of the box, blocks of a chunk
} move_walk;

// The axis to transpose the last one with; the last one itself if there is none.
static size_t move_partner(const nacre_move_box *b) {
    const size_t last = b->axes - 1;
    if (b->to[last] != 1 || b->from[last] == 1 || b->from[last] == 0 || b->extent[last] < 4) return last;
    for (size_t a = 0; a < last; a++) {
        if (b->from[a] == 1 && b->extent[a] >= 4) return a;
    }
    return last;
}

static move_walk move_plan(const nacre_move_box *b, size_t width) {
    move_walk w = {.m = 1, .n = 1};
    size_t last = b->axes, cross = b->axes;
    if (b->axes > 0) {
        last = b->axes - 1;
        cross = move_partner(b);
        w.transposed = cross != last;
        if (!w.transposed) cross = last > 0 ? last - 1 : b->axes;
        w.n = b->extent[last];
        w.from[1] = b->from[last];
        w.to[1] = b->to[last];
    }
    if (cross < b->axes) {
        w.m = b->extent[cross];
        w.from[0] = b->from[cross];
        w.to[0] = b->to[cross];
    }
    if (w.transposed) {
        w.block_m = w.block_n = width <= 4 ? 64 : 32;
    } else {
        w.block_n = move_max(1, move_min(w.n, MOVE_BLOCK_BYTES / width));
        w.block_m = move_max(1, MOVE_BLOCK_BYTES / width / w.block_n);
    }
    w.blocks_m = move_ceil(w.m, w.block_m);
    w.blocks_n = move_ceil(w.n, w.block_n);
    w.units = w.blocks_m * w.blocks_n;
    for (size_t a = 0; a < b->axes; a++) {
        if (a == last || a == cross) continue;
        w.extent[w.axes] = b->extent[a];
        w.outer_from[w.axes] = b->from[a];
        w.outer_to[w.axes] = b->to[a];
        w.units *= b->extent[a];
        w.axes++;
    }
    w.unit = move_min(w.m, w.block_m) * move_min(w.n, w.block_n);
    w.units_per_chunk = move_max(1, MOVE_CHUNK_BYTES / width / move_max(1, w.unit));
    return w;
}

typedef struct {
    nacre_move_box *list;
    size_t count, width;
    plane_fn plane;
    nacre_transpose_fn transpose;
} move_job;

static void move_block(const move_job *job, const move_walk *w, const char *src, char *dst, size_t bm, size_t bn) {
    const size_t i = bm * w->block_m, j = bn * w->block_n;
    const size_t m = move_min(w->block_m, w->m - i), n = move_min(w->block_n, w->n - j);
    const ptrdiff_t width = (ptrdiff_t)job->width;
    src += ((ptrdiff_t)i * w->from[0] + (ptrdiff_t)j * w->from[1]) * width;
    dst += ((ptrdiff_t)i * w->to[0] + (ptrdiff_t)j * w->to[1]) * width;
    if (w->transposed) {
        job->transpose(src, dst, n, m, w->from[1], w->to[0]);
    } else {
        job->plane(src, dst, m, n, w->from, w->to);
    }
}

// Blocks first..last-1 of a box, walked like an odometer.
static void move_units(const move_job *job, const nacre_move_box *b, const move_walk *w, size_t first, size_t last) {
    size_t bn = first % w->blocks_n, rest = first / w->blocks_n;
    size_t bm = rest % w->blocks_m;
    rest /= w->blocks_m;
    size_t index[NACRE_MOVE_AXES];
    ptrdiff_t src = (ptrdiff_t)b->src_at, dst = (ptrdiff_t)b->dst_at;
    for (size_t a = w->axes; a-- > 0;) {
        index[a] = rest % w->extent[a];
        rest /= w->extent[a];
        src += (ptrdiff_t)index[a] * w->outer_from[a];
        dst += (ptrdiff_t)index[a] * w->outer_to[a];
    }
    const ptrdiff_t width = (ptrdiff_t)job->width;
    for (size_t u = first; u < last; u++) {
        move_block(job, w, (const char *)b->src + src * width, (char *)b->dst + dst * width, bm, bn);
        if (++bn < w->blocks_n) continue;
        bn = 0;
        if (++bm < w->blocks_m) continue;
        bm = 0;
        for (size_t a = w->axes; a-- > 0;) {
            src += w->outer_from[a];
            dst += w->outer_to[a];
            if (++index[a] < w->extent[a]) break;
            src -= (ptrdiff_t)w->extent[a] * w->outer_from[a];
            dst -= (ptrdiff_t)w->extent[a] * w->outer_to[a];
            index[a] = 0;
        }
    }
}

static void move_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const move_job *const job = arg;
    size_t lo = 0, hi = job->count;  // the last box that starts at or before chunk is in lo..hi-1
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (job->list[mid].chunk <= chunk) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    const move_walk w = move_plan(&job->list[lo], job->width);
    const size_t first = (chunk - job->list[lo].chunk) * w.units_per_chunk;
    move_units(job, &job->list[lo], &w, first, move_min(first + w.units_per_chunk, w.units));
}

void nacre_move_boxes(const nacre_kernel *transpose, size_t width, nacre_move_box *list, size_t count, nacre_team *team) {
    move_job job = {list, 0, width, move_plane(width), (nacre_transpose_fn)transpose->fn};
    size_t chunks = 0, elements = 0;
    for (size_t i = 0; i < count; i++) {
        const move_walk w = move_plan(&list[i], width);
        if (w.units == 0) continue;
        // Empty boxes leave the list, so that starts of chunks are all different.
        if (job.count != i) list[job.count] = list[i];
        list[job.count++].chunk = chunks;
        chunks += move_ceil(w.units, w.units_per_chunk);
        elements += w.units * w.unit;
    }
    if (elements < 4 * MOVE_CHUNK_BYTES / width) team = NULL;
    nacre_parallel(team, chunks, move_task, &job);
}

typedef struct {
    const char *src;
    const int64_t *index;
    char *dst;
    size_t axis, count, block, total, per_chunk;
} gather_job;

// n blocks of one slice. A size that the compiler knows makes a copy one move.
static void gather_run(const char *src, const int64_t *index, char *dst, size_t n, size_t block) {
#define MOVE_GATHER(size)                                                                                   \
    case size:                                                                                              \
        for (size_t j = 0; j < n; j++) memcpy(dst + j * (size), src + (size_t)index[j] * (size), (size)); \
        return;
    switch (block) {
        MOVE_GATHER(1)
        MOVE_GATHER(2)
        MOVE_GATHER(4)
        MOVE_GATHER(8)
        MOVE_GATHER(16)
    }
#undef MOVE_GATHER
    for (size_t j = 0; j < n; j++) memcpy(dst + j * block, src + (size_t)index[j] * block, block);
}

static void gather_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const gather_job *const g = arg;
    size_t at = chunk * g->per_chunk;
    const size_t end = move_min(at + g->per_chunk, g->total);
    while (at < end) {
        const size_t outer = at / g->count, j = at % g->count;
        const size_t n = move_min(g->count - j, end - at);
        gather_run(g->src + outer * g->axis * g->block, g->index + j, g->dst + at * g->block, n, g->block);
        at += n;
    }
}

void nacre_move_gather(const void *src, const int64_t *index, void *dst, size_t outer, size_t axis, size_t count,
                       size_t block_bytes, nacre_team *team) {
    gather_job g = {src, index, dst, axis, count, block_bytes, outer * count, 0};
    if (g.total == 0 || block_bytes == 0) return;
    g.per_chunk = move_max(1, MOVE_CHUNK_BYTES / block_bytes);
    if (g.total < 4 * g.per_chunk) team = NULL;
    nacre_parallel(team, move_ceil(g.total, g.per_chunk), gather_task, &g);
}
