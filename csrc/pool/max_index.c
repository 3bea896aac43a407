// Command max_index.
#include <math.h>

#include "core/simd.h"
#include "pool/pool.h"
#include "pool/window.h"

typedef struct {
    nacre_max_raise *raise;
    const nacre_pooling *p;
    nacre_dtype type;
    bool column_major;
    const char *x;
    char *y;
    int64_t *index;
    size_t size, in_plane, rows_per_plane, per_chunk;  // bytes of an element; elements; output rows
    int32_t *where;                                    // of a row, for each thread
    nacre_team *team;
} max_index_job;

static nacre_max_raise *max_index_raise(const nacre_max_index_impl *impl, nacre_dtype type) {
    switch (type) {
    case NACRE_DTYPE_f64: return impl->f64;
    case NACRE_DTYPE_i8: return impl->i8;
    case NACRE_DTYPE_u8: return impl->u8;
    default: return impl->f32;
    }
}

static void max_index_lowest(nacre_dtype type, size_t n, void *y) {
    switch (type) {
    case NACRE_DTYPE_f64:
        for (size_t i = 0; i < n; i++) ((double *)y)[i] = -(double)INFINITY;
        break;
    case NACRE_DTYPE_i8:
        for (size_t i = 0; i < n; i++) ((int8_t *)y)[i] = INT8_MIN;
        break;
    case NACRE_DTYPE_u8:
        for (size_t i = 0; i < n; i++) ((uint8_t *)y)[i] = 0;
        break;
    default:
        for (size_t i = 0; i < n; i++) ((float *)y)[i] = -INFINITY;
    }
}

// Returns a position counted with the first axis fastest, from one counted with the last axis
// fastest.
static int64_t max_index_turned(const nacre_pooling *p, size_t at) {
    size_t turned = 0, step = 1;
    for (size_t a = 0; a < p->axes; a++) step *= p->axis[a].in;
    for (size_t a = p->axes; a-- > 0; at /= p->axis[a].in) {
        step /= p->axis[a].in;
        turned += at % p->axis[a].in * step;
    }
    return (int64_t)turned;
}

// Raises the maxima of a row of windows by their elements in one row of the input, which begins at
// element `row` of the plane.
static void max_index_join(const max_index_job *j, const char *plane, size_t row, char *y, int32_t *where) {
    const nacre_pooling_axis *const a = &j->p->axis[j->p->axes - 1];
    for (size_t t = 0; t < a->taps && !nacre_stopped(j->team); t++) {
        const size_t off = t * a->dilation;
        const size_t first = off >= a->pad ? 0 : nacre_strides(a->pad - off, a->stride);
        const size_t end = off >= a->pad + a->in ? 0 : nacre_min(a->out, nacre_strides(a->pad + a->in - off,
                a->stride));
        if (first >= end) continue;
        const size_t at = row + first * a->stride + off - a->pad;
        j->raise(plane + at * j->size, (int32_t)at, end - first, a->stride, y + first * j->size, where + first);
    }
}

// Computes a row of the output. Its windows begin at `at` along the axes but the last.
static void max_index_row(const max_index_job *j, size_t number, const size_t *at, int32_t *where) {
    const nacre_pooling *const p = j->p;
    const size_t outer = p->axes - 1, n = p->axis[outer].out, plane = number / j->rows_per_plane * j->in_plane;
    char *const y = j->y + number * n * j->size;
    size_t start[NACRE_POOLING_AXES], count[NACRE_POOLING_AXES], tap[NACRE_POOLING_AXES] = {0};
    bool more = true;
    size_t lead = 0;
    for (size_t a = 0; a < outer; a++) {
        const nacre_pooling_axis *const x = &p->axis[a];
        size_t first;
        pool_taps(x, at[a], &first, &count[a]);
        start[a] = at[a] * x->stride + first * x->dilation - x->pad;
        lead = lead * x->in + start[a];
        more = more && count[a] > 0;
    }
    // If nothing is larger than the lowest number, the result is the first element.
    const nacre_pooling_axis *const last = &p->axis[outer];
    max_index_lowest(j->type, n, y);
    for (size_t o = 0; o < n; o++) {
        size_t first, taps;
        pool_taps(last, o, &first, &taps);
        const size_t place = lead * last->in + o * last->stride + first * last->dilation - last->pad;
        where[o] = more && taps > 0 ? (int32_t)place : -1;
    }
    while (more && !nacre_stopped(j->team)) {
        size_t row = 0;
        for (size_t a = 0; a < outer; a++) row = row * p->axis[a].in + start[a] + tap[a] * p->axis[a].dilation;
        max_index_join(j, j->x + plane * j->size, row * last->in, y, where);
        more = false;
        for (size_t a = outer; a-- > 0 && !more;) {
            more = ++tap[a] < count[a];
            if (!more) tap[a] = 0;
        }
    }
    if (j->index == NULL) return;
    int64_t *const index = j->index + number * n;
    NACRE_SIMD for (size_t o = 0; o < n; o++) index[o] = where[o] < 0 ? 0 : (int64_t)plane + where[o];
    for (size_t o = 0; j->column_major && o < n; o++) {
        if (where[o] >= 0) index[o] = (int64_t)plane + max_index_turned(p, (size_t)where[o]);
    }
}

static void max_index_task(void *job, size_t chunk, size_t thread) {
    const max_index_job *const j = job;
    const nacre_pooling *const p = j->p;
    const size_t outer = p->axes - 1;
    const size_t first = chunk * j->per_chunk, last = nacre_chunk_end(first, j->per_chunk,
            p->planes * j->rows_per_plane);
    size_t at[NACRE_POOLING_AXES], rest = first % j->rows_per_plane;
    for (size_t a = outer; a-- > 0; rest /= p->axis[a].out) at[a] = rest % p->axis[a].out;
    for (size_t r = first; r < last; r++) {
        max_index_row(j, r, at, j->where + thread * p->axis[outer].out);
        for (size_t a = outer; a-- > 0 && ++at[a] == p->axis[a].out;) at[a] = 0;
    }
}

static int max_index_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_pooling p = nacre_pooling_of(&((const nacre_max_index_words *)(const void *)words)->extents);
    size_t n = 1;
    for (size_t a = 0; a < p.axes; a++) n *= p.axis[a].in;
    return n <= INT32_MAX;
}

static size_t max_index_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    const nacre_pooling p = nacre_pooling_of(&((const nacre_max_index_words *)(const void *)words)->extents);
    return threads * p.axis[p.axes - 1].out * sizeof(int32_t);
}

static void max_index_command(const nacre_call *c) {
    const nacre_max_index_words *const w = (const void *)c->words;
    const nacre_pooling p = nacre_pooling_of(&w->extents);
    const nacre_dtype type = (nacre_dtype)w->type;
    max_index_job j = {.raise = max_index_raise(((nacre_max_index_fn *)c->kernel->fn)(), type), .p = &p, .type = type,
                       .column_major = w->column_major != 0, .x = nacre_operand(c, 0), .y = nacre_operand(c, 1),
                       .index = nacre_operand(c, 2), .size = nacre_dtype_bits(type) / 8, .in_plane = 1,
                       .rows_per_plane = 1, .where = c->scratch, .team = c->team};
    size_t taps = 1;
    for (size_t a = 0; a < p.axes; a++) {
        j.in_plane *= p.axis[a].in;
        if (a + 1 < p.axes) j.rows_per_plane *= p.axis[a].out;
        taps *= nacre_min(p.axis[a].taps, p.axis[a].in);
    }
    const size_t work = p.axis[p.axes - 1].out * (taps + 1);
    j.per_chunk = work >= POOL_GRAIN ? 1 : POOL_GRAIN / work;
    nacre_parallel(c->team, nacre_ceil_div(p.planes * j.rows_per_plane, j.per_chunk), max_index_task, &j);
}

const nacre_entry nacre_max_index_entry = {
    .words = sizeof(nacre_max_index_words) / 8, .operands = 3, .run = max_index_command, .fits = max_index_fits,
    .scratch = max_index_scratch,
};
