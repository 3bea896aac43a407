// Ops scatter and scatter_elements: write or reduce blocks and elements to given indices. If an
// index is repeated, its updates apply in order. Threads therefore share only elements that have
// different destinations.
#include <math.h>

#include "copy/index.h"

#define SCATTER_FLOAT_MAX(T) (a > b ? a : b > a ? b : a != a ? a : b != b ? b : a == 0 ? a + b : a)
#define SCATTER_FLOAT_MIN(T) (a < b ? a : b < a ? b : a != a ? a : b != b ? b : a == 0 ? -(-a - b) : a)
#define SCATTER_SIGNED_MAX(T) (a > b ? a : b)
#define SCATTER_SIGNED_MIN(T) (a < b ? a : b)
#define SCATTER_UNSIGNED_MAX(T) SCATTER_SIGNED_MAX(T)
#define SCATTER_UNSIGNED_MIN(T) SCATTER_SIGNED_MIN(T)
#define SCATTER_FLOAT_ADD(T) (a + b)
#define SCATTER_FLOAT_MUL(T) (a * b)
#define SCATTER_SIGNED_ADD(T) (T)((uint64_t)a + (uint64_t)b)
#define SCATTER_SIGNED_MUL(T) (T)((uint64_t)a * (uint64_t)b)
#define SCATTER_UNSIGNED_ADD(T) SCATTER_SIGNED_ADD(T)
#define SCATTER_UNSIGNED_MUL(T) SCATTER_SIGNED_MUL(T)

#define SCATTER_REDUCE(name, T, expression)                \
    void name(void *dst, const void *src, size_t n) {      \
        T *const d = dst;                                  \
        const T *const s = src;                            \
        for (size_t i = 0; i < n; i++) {                   \
            const T a = d[i], b = s[i];                    \
            d[i] = expression;                             \
        }                                                  \
    }

#define NACRE_DTYPE(d, name, T, kind)                                \
    SCATTER_REDUCE(nacre_##d##_scatter_add, T, SCATTER_##kind##_ADD(T)) \
    SCATTER_REDUCE(nacre_##d##_scatter_mul, T, SCATTER_##kind##_MUL(T)) \
    SCATTER_REDUCE(nacre_##d##_scatter_max, T, SCATTER_##kind##_MAX(T)) \
    SCATTER_REDUCE(nacre_##d##_scatter_min, T, SCATTER_##kind##_MIN(T))
#include "core/dtypes.inc"
#undef NACRE_DTYPE

static void scatter_put(nacre_scatter_reduce_fn *reduce, char *dst, const char *src, size_t n, size_t width) {
    if (reduce == NULL) {
        copy_block(dst, src, n * width);
    } else {
        reduce(dst, src, n);
    }
}

// SCATTER_PIECE is the number of elements of every block that a chunk writes. SCATTER_POLL is the
// number of updates between two checks of the stop flag.
enum { SCATTER_PIECE = 4 << 10, SCATTER_POLL = 1 << 10 };

typedef struct {
    const nacre_call *c;
    const nacre_scatter_words *w;
    const void *index;
    const char *updates;
    char *dst;
} scatter_job;

static void scatter_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const scatter_job *const s = arg;
    const nacre_scatter_words *const w = s->w;
    const size_t block = (size_t)w->block, width = (size_t)w->width, tuple = (size_t)w->tuple;
    const size_t from = chunk * SCATTER_PIECE, n = nacre_min(SCATTER_PIECE, block - from);
    nacre_scatter_reduce_fn *const reduce = (nacre_scatter_reduce_fn *)nacre_part_fn(w->reduce);
    size_t work = 0;
    for (size_t j = 0; j < (size_t)w->count; j++) {
        int64_t at = 0;
        for (size_t a = 0; a < tuple; a++) {
            const int64_t x = copy_index(s->c, s->index, w->index_bytes, j * tuple + a, w->extents[a]);
            if (x < 0) return;
            at = at * w->extents[a] + x;
        }
        scatter_put(reduce, s->dst + ((size_t)at * block + from) * width, s->updates + (j * block + from) * width, n,
                    width);
        work += 16 + n;
        if (work > 16 * SCATTER_POLL) {
            if (nacre_stopped(s->c->team)) return;
            work = 0;
        }
    }
}

static void scatter_run(const nacre_call *c) {
    const nacre_scatter_words *const w = (const void *)c->words;
    scatter_job s = {c, w, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2)};
    nacre_parallel(c->team, nacre_max(1, nacre_ceil_div((size_t)w->block, SCATTER_PIECE)), scatter_task, &s);
}

const nacre_entry nacre_scatter_entry = {.words = sizeof(nacre_scatter_words) / 8, .operands = 3, .run = scatter_run};

static void scatter_elements_run(const nacre_call *c) {
    const nacre_elements_words *const w = (const void *)c->words;
    const void *const index = nacre_operand(c, 0);
    const char *const updates = nacre_operand(c, 1);
    char *const dst = nacre_operand(c, 2);
    const size_t axes = (size_t)w->axes, width = (size_t)w->width;
    nacre_scatter_reduce_fn *const reduce = (nacre_scatter_reduce_fn *)nacre_part_fn(w->reduce);
    size_t total = 1;
    for (size_t a = 0; a < axes; a++) total *= (size_t)w->list[2 * a];
    if (total == 0) return;
    int64_t at[NACRE_COPY_AXES], base = copy_odometer(w->list, axes, 0, at);
    for (size_t p = 0; p < total; p++) {
        if (p % SCATTER_POLL == 0 && nacre_stopped(c->team)) return;
        const int64_t x = copy_index(c, index, w->index_bytes, p, w->extent);
        if (x < 0) return;
        scatter_put(reduce, dst + (size_t)(base + x * w->along) * width, updates + p * width, 1, width);
        base += copy_advance(w->list, axes, at);
    }
}

static int scatter_elements_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    return ((const nacre_elements_words *)(const void *)words)->axes <= NACRE_COPY_AXES;
}

const nacre_entry nacre_scatter_elements_entry = {
    .words = sizeof(nacre_elements_words) / 8, .operands = 3, .run = scatter_elements_run,
    .fits = scatter_elements_fits,
};
