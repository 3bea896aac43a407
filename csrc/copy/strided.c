// Op copy: strided copies of boxes, divided into planes and planes into blocks.
#include "copy/index.h"
#include "core/simd.h"

// COPY_BLOCK_BYTES is the size of one block of a plane.
enum { COPY_BLOCK_BYTES = 16 << 10 };

// plane_fn copies m rows of n elements. Steps along a row and between rows are signed.
typedef void (*plane_fn)(const void *src, void *dst, size_t m, size_t n, const ptrdiff_t *from, const ptrdiff_t *to);

#define COPY_PLANE(name, T)                                                                                  \
    static void name(const void *src, void *dst, size_t m, size_t n, const ptrdiff_t *from, const ptrdiff_t *to) { \
        const ptrdiff_t fm = from[0], fn = from[1], tm = to[0], tn = to[1];                                  \
        for (size_t i = 0; i < m; i++) {                                                                     \
            const T *const s = (const T *)src + (ptrdiff_t)i * fm;                                           \
            T *const d = (T *)dst + (ptrdiff_t)i * tm;                                                       \
            if (tn == 1 && fn == 1 && n * sizeof(T) > 64) {                                                  \
                memcpy(d, s, n * sizeof(T));                                                                 \
            } else if (tn == 1 && fn == 1) {                                                                 \
                NACRE_SIMD for (size_t j = 0; j < n; j++) d[j] = s[j];                                       \
            } else if (tn == 1 && fn == 0) {                                                                 \
                const T v = s[0];                                                                            \
                NACRE_SIMD for (size_t j = 0; j < n; j++) d[j] = v;                                          \
            } else {                                                                                         \
                NACRE_SIMD for (size_t j = 0; j < n; j++) d[(ptrdiff_t)j * tn] = s[(ptrdiff_t)j * fn];       \
            }                                                                                                \
        }                                                                                                    \
    }

COPY_PLANE(copy_plane_w1, uint8_t)
COPY_PLANE(copy_plane_w2, uint16_t)
COPY_PLANE(copy_plane_w4, uint32_t)
COPY_PLANE(copy_plane_w8, uint64_t)
COPY_PLANE(copy_plane_w16, nacre_w16)

static plane_fn copy_plane(size_t width) {
    switch (width) {
        case 1: return copy_plane_w1;
        case 2: return copy_plane_w2;
        case 4: return copy_plane_w4;
        case 8: return copy_plane_w8;
        default: return copy_plane_w16;
    }
}

// copy_walk divides a box into planes of m x n elements, one for every index of the other axes, and
// each plane into blocks.
typedef struct {
    size_t m, n;                        // extents of the plane
    ptrdiff_t from[2], to[2];           // steps along m and along n
    int transposed;                     // from[0] and to[1] are 1
    size_t block_m, block_n;            // extents of a block
    size_t blocks_m, blocks_n;          // blocks of a plane
    size_t axes;                        // axes outside the plane, last one fastest
    size_t extent[NACRE_COPY_AXES];
    ptrdiff_t outer_from[NACRE_COPY_AXES], outer_to[NACRE_COPY_AXES];
    size_t unit;                        // elements of a full block
    size_t units, units_per_chunk;      // blocks of the box; blocks per chunk
} copy_walk;

// copy_box is a box without axes of extent 1. Neighbouring axes are joined if one continues the
// other.
typedef struct {
    ptrdiff_t src_at, dst_at;
    size_t axes;
    size_t extent[NACRE_COPY_AXES];
    ptrdiff_t from[NACRE_COPY_AXES], to[NACRE_COPY_AXES];
} copy_box;

static copy_box copy_box_of(const copy_boxes *list, size_t number) {
    const int64_t *const w = list->list + number * (2 + 3 * list->axes);
    copy_box b = {.src_at = (ptrdiff_t)w[0], .dst_at = (ptrdiff_t)w[1]};
    for (size_t a = 0; a < list->axes; a++) {
        const size_t n = (size_t)w[2 + 3 * a];
        const ptrdiff_t from = (ptrdiff_t)w[3 + 3 * a], to = (ptrdiff_t)w[4 + 3 * a];
        if (n == 1) continue;
        const size_t last = b.axes - 1;
        if (b.axes > 0 && b.from[last] == (ptrdiff_t)n * from && b.to[last] == (ptrdiff_t)n * to) {
            b.extent[last] *= n;
            b.from[last] = from;
            b.to[last] = to;
            continue;
        }
        b.extent[b.axes] = n;
        b.from[b.axes] = from;
        b.to[b.axes++] = to;
    }
    return b;
}

// copy_few reports whether the last axis and axis a are pixels and few channels, in either order.
static int copy_few(const copy_box *b, size_t a) {
    const size_t last = b->axes - 1;
    return nacre_few(b->extent[last], b->extent[a], b->from[last]) ||
           nacre_few(b->extent[a], b->extent[last], b->to[a]);
}

// copy_partner returns the axis to transpose with the last one. If there is none, it returns the
// last axis.
static size_t copy_partner(const copy_box *b) {
    const size_t last = b->axes - 1;
    if (b->to[last] != 1 || b->from[last] == 1 || b->from[last] == 0) return last;
    for (size_t a = 0; a < last; a++) {
        if (b->from[a] != 1) continue;
        if (copy_few(b, a) || (b->extent[a] >= 4 && b->extent[last] >= 4)) return a;
    }
    return last;
}

static copy_walk copy_plan(const copy_box *b, size_t width) {
    copy_walk w = {.m = 1, .n = 1};
    size_t last = b->axes, cross = b->axes;
    if (b->axes > 0) {
        last = b->axes - 1;
        cross = copy_partner(b);
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
        if (copy_few(b, cross)) w.block_m = w.block_n = COPY_BLOCK_BYTES / 4 / width;
    } else {
        w.block_n = nacre_max(1, nacre_min(w.n, COPY_BLOCK_BYTES / width));
        w.block_m = nacre_max(1, COPY_BLOCK_BYTES / width / w.block_n);
    }
    w.blocks_m = nacre_ceil_div(w.m, w.block_m);
    w.blocks_n = nacre_ceil_div(w.n, w.block_n);
    w.units = w.blocks_m * w.blocks_n;
    for (size_t a = 0; a < b->axes; a++) {
        if (a == last || a == cross) continue;
        w.extent[w.axes] = b->extent[a];
        w.outer_from[w.axes] = b->from[a];
        w.outer_to[w.axes] = b->to[a];
        w.units *= b->extent[a];
        w.axes++;
    }
    w.unit = nacre_min(w.m, w.block_m) * nacre_min(w.n, w.block_n);
    w.units_per_chunk = nacre_max(1, COPY_CHUNK_BYTES / width / nacre_max(1, w.unit));
    return w;
}

typedef struct {
    const copy_boxes *list;
    const char *src;
    char *dst;
    const size_t *starts;  // the first chunk of each box
    plane_fn plane;
} copy_job;

static void copy_tile(const copy_job *job, const copy_walk *w, const char *src, char *dst, size_t bm, size_t bn) {
    const size_t i = bm * w->block_m, j = bn * w->block_n;
    const size_t m = nacre_min(w->block_m, w->m - i), n = nacre_min(w->block_n, w->n - j);
    const ptrdiff_t width = (ptrdiff_t)job->list->width;
    src += ((ptrdiff_t)i * w->from[0] + (ptrdiff_t)j * w->from[1]) * width;
    dst += ((ptrdiff_t)i * w->to[0] + (ptrdiff_t)j * w->to[1]) * width;
    if (w->transposed) {
        job->list->transpose(src, dst, n, m, w->from[1], w->to[0]);
    } else {
        job->plane(src, dst, m, n, w->from, w->to);
    }
}

// copy_units copies blocks first..last-1 of a box, in order.
static void copy_units(const copy_job *job, const copy_box *b, const copy_walk *w, size_t first, size_t last) {
    size_t bn = first % w->blocks_n, rest = first / w->blocks_n;
    size_t bm = rest % w->blocks_m;
    rest /= w->blocks_m;
    size_t index[NACRE_COPY_AXES];
    ptrdiff_t src = (ptrdiff_t)b->src_at, dst = (ptrdiff_t)b->dst_at;
    for (size_t a = w->axes; a-- > 0;) {
        index[a] = rest % w->extent[a];
        rest /= w->extent[a];
        src += (ptrdiff_t)index[a] * w->outer_from[a];
        dst += (ptrdiff_t)index[a] * w->outer_to[a];
    }
    const ptrdiff_t width = (ptrdiff_t)job->list->width;
    for (size_t u = first; u < last; u++) {
        copy_tile(job, w, job->src + src * width, job->dst + dst * width, bm, bn);
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

static void copy_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const copy_job *const job = arg;
    size_t lo = 0, hi = job->list->boxes;  // the box is the last one in lo..hi-1 that starts at or before chunk
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (job->starts[mid] <= chunk) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    const copy_box b = copy_box_of(job->list, lo);
    const copy_walk w = copy_plan(&b, job->list->width);
    const size_t first = (chunk - job->starts[lo]) * w.units_per_chunk;
    copy_units(job, &b, &w, first, nacre_min(first + w.units_per_chunk, w.units));
}

// copy_lies reports whether the elements of a box already are where the copy would put them.
static int copy_lies(const copy_boxes *list, const copy_box *b, const void *src, const void *dst) {
    const ptrdiff_t width = (ptrdiff_t)list->width;
    return (const char *)src + b->src_at * width == (const char *)dst + b->dst_at * width &&
        memcmp(b->from, b->to, b->axes * sizeof *b->from) == 0;
}

void nacre_copy_boxes(const copy_boxes *list, const void *src, void *dst, size_t *starts, nacre_team *team) {
    copy_job job = {list, src, dst, starts, copy_plane(list->width)};
    size_t chunks = 0, elements = 0;
    for (size_t i = 0; i < list->boxes; i++) {
        const copy_box b = copy_box_of(list, i);
        const copy_walk w = copy_plan(&b, list->width);
        starts[i] = chunks;
        if (copy_lies(list, &b, src, dst)) continue;
        chunks += nacre_ceil_div(w.units, w.units_per_chunk);
        elements += w.units * w.unit;
    }
    nacre_team alone = *team;
    if (elements < 4 * COPY_CHUNK_BYTES / list->width) alone.pool = NULL;
    nacre_parallel(&alone, chunks, copy_task, &job);
}

static void copy_run(const nacre_call *c) {
    const nacre_copy_words *const w = (const void *)c->words;
    const copy_boxes list = {
        (nacre_transpose_fn *)nacre_part_fn(w->transpose), (size_t)w->width, (size_t)w->axes, (size_t)w->boxes, w->list,
    };
    nacre_copy_boxes(&list, nacre_operand(c, 0), nacre_operand(c, 1), c->scratch, c->team);
}

static size_t copy_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    (void)threads;
    return (size_t)((const nacre_copy_words *)(const void *)words)->boxes * sizeof(size_t);
}

static int copy_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    return ((const nacre_copy_words *)(const void *)words)->axes <= NACRE_COPY_AXES;
}

const nacre_entry nacre_copy_entry = {
    .words = sizeof(nacre_copy_words) / 8, .operands = 2, .run = copy_run, .fits = copy_fits, .scratch = copy_scratch,
};
