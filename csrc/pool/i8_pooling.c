// Command i8_pooling, with a kernel row for each way to compute it. The ways rows and lines join
// the rows under a window into one row, and the columns of that row into the results: rows of any
// one code at a position and means, lines of maxima of several codes at a position. Cells are means
// of several codes at a position that join the rows of all positions under a window. Totals are
// means of whole planes of one code at a position.
#include <string.h>

#include "pool/pool.h"
#include "pool/window.h"

enum {
    I8_POOLING_PLANES = 64,  // planes with totals that are finished at a time
    I8_POOLING_STRIDE = 4,   // strides up to which windows at all positions are cheaper than at some
    I8_POOLING_ROW = 1 << 16 // largest number of sums of a row of many codes at a position
};

typedef struct {
    const nacre_i8_pooling_impl *impl;
    nacre_pooling p;
    size_t inner;        // above 0
    nacre_i8_mean mean;  // for a maximum only is_signed is used
    const nacre_team *team;
} i8_pooling;

typedef struct {
    const i8_pooling *o;
    const uint8_t *x;
    uint8_t *y;
    size_t in_plane;         // bytes
    size_t cells;            // rows or positions of a plane's result
    size_t per_chunk;        // cells of a chunk
    size_t inside, outside;  // outputs of the last axis with all taps in the input, inside..outside-1
    int32_t *valid;          // taps in the input of each output of the last axis, for each code there
    float *counted;          // taps that count, likewise
    uint8_t *buffers;        // of each thread: a row as sums or codes, sums of results, and windows at all positions
    size_t buffer;           // bytes of all three
    size_t results, all;     // offsets of the second and of the third
} i8_pooling_job;

// Joins rows of `width` bytes to codes or sums, one row for each tap of the first n axes that is in
// the input. Returns the number of rows. Without rows, the result is the least code or 0.
static size_t i8_pooling_join(const i8_pooling_job *j, size_t n, size_t width, const uint8_t *plane, const size_t *at,
                              void *to) {
    const i8_pooling *const o = j->o;
    const int is_signed = o->mean.is_signed;
    size_t start[NACRE_POOLING_AXES], count[NACRE_POOLING_AXES], tap[NACRE_POOLING_AXES] = {0}, taps = 1;
    for (size_t a = 0; a < n; a++) {
        const nacre_pooling_axis *const x = &o->p.axis[a];
        size_t first;
        pool_taps(x, at[a], &first, &count[a]);
        start[a] = at[a] * x->stride + first * x->dilation - x->pad;
        taps *= count[a];
    }
    if (taps == 0) {
        memset(to, o->p.max && is_signed ? 0x80 : 0, o->p.max ? width : width * sizeof(int32_t));
        return 0;
    }
    const uint8_t *rows[NACRE_POOLING_ROWS];
    size_t listed = 0;
    for (size_t done = 0; done < taps && !nacre_stopped(o->team);) {
        size_t row = 0;
        for (size_t a = 0; a < n; a++) row = row * o->p.axis[a].in + start[a] + tap[a] * o->p.axis[a].dilation;
        rows[listed++] = plane + row * width;
        done++;
        if (listed == NACRE_POOLING_ROWS || done == taps) {
            const int fresh = done == listed;
            if (o->p.max) {
                o->impl->max(is_signed, rows, listed, fresh, width, to);
            } else {
                o->impl->sum(is_signed, rows, listed, fresh, width, to);
            }
            listed = 0;
        }
        for (size_t a = n; a-- > 0 && ++tap[a] == count[a];) tap[a] = 0;
    }
    return taps;
}

static float i8_pooling_counted(const nacre_pooling *p, size_t n, const size_t *at) {
    float divisor = 1;
    for (size_t a = 0; a < n && !p->max; a++) divisor *= pool_divisor(&p->axis[a], at[a], p->count_pad);
    return divisor;
}

// Sets at to the place of an output in the first n axes.
static void i8_pooling_place(const nacre_pooling *p, size_t n, size_t cell, size_t *at) {
    for (size_t a = n; a-- > 0; cell /= p->axis[a].out) at[a] = cell % p->axis[a].out;
}

// Copies every stride-th of n positions of `bytes` bytes.
static inline void i8_pooling_pick(const void *x, size_t stride, size_t bytes, size_t n, void *y) {
    for (size_t i = 0; i < n; i++) memcpy((char *)y + i * bytes, (const char *)x + i * stride * bytes, bytes);
}

// i8_pooling_pick, with one instruction per copy for the codes and the sums of blocks.
static void i8_pooling_spread(const void *x, size_t stride, size_t bytes, size_t n, void *y) {
    switch (bytes) {
        case 4: i8_pooling_pick(x, stride, 4, n, y); break;
        case 8: i8_pooling_pick(x, stride, 8, n, y); break;
        case 16: i8_pooling_pick(x, stride, 16, n, y); break;
        case 32: i8_pooling_pick(x, stride, 32, n, y); break;
        case 64: i8_pooling_pick(x, stride, 64, n, y); break;
        default: i8_pooling_pick(x, stride, bytes, n, y); break;
    }
}

// ---- rows ----

// Computes the maxima of outputs from..to-1, for one code at a position.
static void i8_pooling_max_edge(const i8_pooling *o, const uint8_t *row, size_t from, size_t to, uint8_t *y) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const uint8_t flip = o->mean.is_signed ? 0x80 : 0;  // maps signed codes to unsigned ones in the same order
    for (size_t i = from; i < to && !nacre_stopped(o->team); i++) {
        size_t first, count;
        pool_taps(a, i, &first, &count);
        uint8_t best = 0;
        for (size_t t = first; t < first + count; t++) {
            const uint8_t v = row[i * a->stride + t * a->dilation - a->pad] ^ flip;
            if (v > best) best = v;
        }
        y[i] = best ^ flip;
    }
}

static void i8_pooling_sum_edge(const i8_pooling *o, const int32_t *row, size_t from, size_t to, int32_t *sums) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const size_t n = o->inner;
    for (size_t i = from; i < to && !nacre_stopped(o->team); i++) {
        size_t first, count;
        pool_taps(a, i, &first, &count);
        memset(sums + i * n, 0, n * sizeof(int32_t));
        for (size_t t = first; t < first + count; t++) {
            for (size_t k = 0; k < n; k++) sums[i * n + k] += row[(i * a->stride + t * a->dilation - a->pad) * n + k];
        }
    }
}

// Computes the maxima of n windows inside a row, for one code at a position. `first` is the first
// window.
static void i8_pooling_max_along(const i8_pooling *o, const uint8_t *first, size_t n, uint8_t *y) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const size_t piece = pool_piece(a->taps);
    for (size_t i = 0; i < n && !nacre_stopped(o->team); i += piece) {
        o->impl->max_along(o->mean.is_signed, first + i * a->stride, a->taps, a->stride, a->dilation,
                           nacre_min(piece, n - i), y + i);
    }
}

// Computes the sums of n windows that move by `stride` elements, from the first on.
static void i8_pooling_sum_along(const i8_pooling *o, const int32_t *first, size_t stride, size_t n, int32_t *sums) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const size_t piece = pool_piece(a->taps);
    for (size_t i = 0; i < n && !nacre_stopped(o->team); i += piece) {
        o->impl->sum_along(first + i * stride, a->taps, stride, a->dilation * o->inner, nacre_min(piece, n - i),
                           sums + i);
    }
}

// Computes the sums of n windows inside a row, from the first on.
static void i8_pooling_sum_inside(const i8_pooling *o, const int32_t *first, size_t n, int32_t *all, int32_t *sums) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    if (o->inner == 1 || a->stride == 1) {
        i8_pooling_sum_along(o, first, a->stride, n * o->inner, sums);
        return;
    }
    i8_pooling_sum_along(o, first, 1, ((n - 1) * a->stride + 1) * o->inner, all);
    i8_pooling_spread(all, a->stride, o->inner * sizeof(int32_t), n, sums);
}

// Computes maxima of one code at a position, and means.
static void i8_pooling_rows(void *job, size_t chunk, size_t thread) {
    const i8_pooling_job *const j = job;
    const i8_pooling *const o = j->o;
    const size_t outer = o->p.axes - 1, from = j->inside, to = j->outside, n = o->inner;
    const nacre_pooling_axis *const a = &o->p.axis[outer];
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, o->p.planes * j->cells);
    uint8_t *const buffer = j->buffers + thread * j->buffer;
    int32_t *const row = (int32_t *)(void *)buffer, *const sums = (int32_t *)(void *)(buffer + j->results);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        size_t at[NACRE_POOLING_AXES];
        i8_pooling_place(&o->p, outer, r % j->cells, at);
        const uint8_t *const plane = j->x + r / j->cells * j->in_plane;
        uint8_t *const y = j->y + r * a->out * n;
        const size_t rows = i8_pooling_join(j, outer, a->in * n, plane, at, buffer);
        const size_t begin = from * a->stride - a->pad;  // of the first window inside the row
        if (o->p.max) {
            i8_pooling_max_edge(o, buffer, 0, from, y);
            if (to > from) i8_pooling_max_along(o, buffer + begin, to - from, y + from);
            i8_pooling_max_edge(o, buffer, to, a->out, y);
            continue;
        }
        i8_pooling_sum_edge(o, row, 0, from, sums);
        if (to > from) {
            i8_pooling_sum_inside(o, row + begin * n, to - from, (int32_t *)(void *)(buffer + j->all), sums + from * n);
        }
        i8_pooling_sum_edge(o, row, to, a->out, sums);
        o->impl->mean(&o->mean, sums, j->valid, j->counted, 1, (int32_t)rows, i8_pooling_counted(&o->p, outer, at),
                      a->out * n, y);
    }
}

// Computes the means of windows that are whole planes.
static void i8_pooling_totals(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_pooling_job *const j = job;
    const i8_pooling *const o = j->o;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, o->p.planes);
    const int32_t valid = (int32_t)j->in_plane;
    const float counted = (float)j->in_plane;
    for (size_t r = chunk * j->per_chunk; r < last;) {
        int32_t sums[I8_POOLING_PLANES];
        const size_t n = nacre_min(I8_POOLING_PLANES, last - r);
        for (size_t k = 0; k < n; k++) {
            sums[k] = o->impl->total(o->mean.is_signed, j->x + (r + k) * j->in_plane, j->in_plane);
        }
        o->impl->mean(&o->mean, sums, &valid, &counted, 0, 1, 1, n, j->y + r);
        r += n;
    }
}

// ---- many codes at a position ----

// Computes means, position by position.
static void i8_pooling_cells(void *job, size_t chunk, size_t thread) {
    const i8_pooling_job *const j = job;
    const i8_pooling *const o = j->o;
    const size_t axes = o->p.axes, n = o->inner;
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, o->p.planes * j->cells);
    int32_t *const sums = (int32_t *)(void *)(j->buffers + thread * j->buffer);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        size_t at[NACRE_POOLING_AXES];
        i8_pooling_place(&o->p, axes, r % j->cells, at);
        const uint8_t *const plane = j->x + r / j->cells * j->in_plane;
        uint8_t *const y = j->y + r * n;
        const size_t rows = i8_pooling_join(j, axes, n, plane, at, sums);
        const int32_t valid = (int32_t)rows;
        const float counted = i8_pooling_counted(&o->p, axes, at);
        o->impl->mean(&o->mean, sums, &valid, &counted, 0, 1, 1, n, y);
    }
}

// Computes the maxima of columns from..to-1 of a row of positions. Their windows may leave the row.
static void i8_pooling_max_columns(const i8_pooling *o, const uint8_t *row, size_t from, size_t to, uint8_t *y) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const uint8_t *rows[NACRE_POOLING_ROWS];
    const size_t n = o->inner;
    for (size_t i = from; i < to && !nacre_stopped(o->team); i++) {
        size_t first, count, listed = 0;
        pool_taps(a, i, &first, &count);
        if (count == 0) memset(y + i * n, o->mean.is_signed ? 0x80 : 0, n);
        for (size_t t = 0; t < count; t++) {
            rows[listed++] = row + (i * a->stride + (first + t) * a->dilation - a->pad) * n;
            if (listed < NACRE_POOLING_ROWS && t + 1 < count) continue;
            o->impl->max(o->mean.is_signed, rows, listed, t + 1 == listed, n, y + i * n);
            listed = 0;
        }
    }
}

// Computes the maxima of n codes from the first on, of windows that move by one code at a time.
static void i8_pooling_max_moving(const i8_pooling *o, const uint8_t *first, size_t n, uint8_t *y) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const uint8_t *rows[NACRE_POOLING_ROWS];
    size_t listed = 0;
    for (size_t t = 0; t < a->taps && !nacre_stopped(o->team); t++) {
        rows[listed++] = first + t * a->dilation * o->inner;
        if (listed < NACRE_POOLING_ROWS && t + 1 < a->taps) continue;
        o->impl->max(o->mean.is_signed, rows, listed, t + 1 == listed, n, y);
        listed = 0;
    }
}

// Computes the maxima of columns from..to-1 of a row of positions, with windows inside it. It
// computes all positions between them, and picks those that windows reach by their stride.
static void i8_pooling_max_inside(const i8_pooling *o, const uint8_t *row, size_t from, size_t to, uint8_t *all,
                                  uint8_t *y) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const uint8_t *const first = row + (from * a->stride - a->pad) * o->inner;
    if (a->stride == 1) {
        i8_pooling_max_moving(o, first, (to - from) * o->inner, y + from * o->inner);
        return;
    }
    i8_pooling_max_moving(o, first, ((to - from - 1) * a->stride + 1) * o->inner, all);
    i8_pooling_spread(all, a->stride, o->inner, to - from, y + from * o->inner);
}

// Computes maxima: joins the rows of positions under a window, and then columns of the joined row.
static void i8_pooling_lines(void *job, size_t chunk, size_t thread) {
    const i8_pooling_job *const j = job;
    const i8_pooling *const o = j->o;
    const size_t outer = o->p.axes - 1, from = j->inside, to = j->outside;
    const nacre_pooling_axis *const a = &o->p.axis[outer];
    const size_t last = nacre_min((chunk + 1) * j->per_chunk, o->p.planes * j->cells);
    uint8_t *const row = j->buffers + thread * j->buffer;
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        size_t at[NACRE_POOLING_AXES];
        i8_pooling_place(&o->p, outer, r % j->cells, at);
        uint8_t *const y = j->y + r * a->out * o->inner;
        i8_pooling_join(j, outer, a->in * o->inner, j->x + r / j->cells * j->in_plane, at, row);
        const size_t middle = a->stride <= I8_POOLING_STRIDE && to > from ? from : a->out;
        i8_pooling_max_columns(o, row, 0, middle, y);
        if (middle == a->out) continue;
        i8_pooling_max_inside(o, row, from, to, row + j->all, y);
        i8_pooling_max_columns(o, row, to, a->out, y);
    }
}

// ---- all ----

static int i8_pooling_whole(const nacre_pooling *p) {
    for (size_t a = 0; a < p->axes; a++) {
        const nacre_pooling_axis *const x = &p->axis[a];
        if (x->out != 1 || x->taps != x->in || x->dilation != 1 || x->pad != 0) return 0;
    }
    return !p->max;
}

typedef enum { I8_POOLING_CELLS, I8_POOLING_TOTALS, I8_POOLING_LINES, I8_POOLING_ROWS } i8_pooling_way;

// Returns the way that takes a pooling. Cells take means of whole planes, of windows far apart and
// of long rows.
static i8_pooling_way i8_pooling_way_of(const i8_pooling *o) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const int whole = i8_pooling_whole(&o->p);
    if (o->inner == 1) return whole ? I8_POOLING_TOTALS : I8_POOLING_ROWS;
    if (o->p.max) return I8_POOLING_LINES;
    const int apart = a->stride > I8_POOLING_STRIDE, wide = nacre_max(a->in, a->out) > I8_POOLING_ROW / o->inner;
    return whole || apart || wide ? I8_POOLING_CELLS : I8_POOLING_ROWS;
}

// Lays out scratch and returns its bytes.
static size_t i8_pooling_layout(const i8_pooling *o, size_t threads, uint8_t *scratch, i8_pooling_job *j) {
    const nacre_pooling_axis *const a = &o->p.axis[o->p.axes - 1];
    const size_t n = o->inner, most = n == 1 || o->p.max ? SIZE_MAX : nacre_max(I8_POOLING_ROW, n);
    const size_t numbers = o->p.max ? 0 : nacre_align_bytes(nacre_min(a->out * n, most) * sizeof(int32_t));
    j->results = nacre_align_bytes(nacre_min(a->in * n, most) * (o->p.max ? 1 : sizeof(int32_t)));
    j->all = j->results + numbers;
    j->buffer = j->all + (n == 1 ? 0 : j->results);
    if (scratch != NULL) {
        j->valid = (int32_t *)(void *)scratch;
        j->counted = (float *)(void *)(scratch + numbers);
        j->buffers = scratch + 2 * numbers;
    }
    return 2 * numbers + threads * j->buffer;
}

static void i8_pooling_start(i8_pooling_job *j, nacre_team *team, size_t units, size_t work, nacre_task task) {
    j->per_chunk = work >= POOL_GRAIN ? 1 : POOL_GRAIN / work;
    nacre_parallel(team, nacre_strides(units, j->per_chunk), task, j);
}

static void i8_pooling_run(const i8_pooling *o, i8_pooling_way way, nacre_team *team, const uint8_t *x,
                           uint8_t *scratch, uint8_t *y) {
    const nacre_pooling *const p = &o->p;
    const nacre_pooling_axis *const a = &p->axis[p->axes - 1];
    i8_pooling_job j = {.o = o, .x = x, .y = y, .in_plane = o->inner, .cells = 1};
    i8_pooling_layout(o, nacre_team_threads(team), scratch, &j);
    size_t taps = 1;
    for (size_t i = 0; i < p->axes; i++) {
        j.in_plane *= p->axis[i].in;
        if (i + 1 < p->axes || way == I8_POOLING_CELLS) {
            j.cells *= p->axis[i].out;
            taps *= nacre_min(p->axis[i].taps, p->axis[i].in);
        }
    }
    if (way == I8_POOLING_CELLS) {
        i8_pooling_start(&j, team, p->planes * j.cells, o->inner * taps, i8_pooling_cells);
        return;
    }
    if (way == I8_POOLING_TOTALS) {
        i8_pooling_start(&j, team, p->planes, j.in_plane, i8_pooling_totals);
        return;
    }
    for (size_t i = 0; i < a->out * o->inner && !p->max; i++) {
        size_t first, count;
        pool_taps(a, i / o->inner, &first, &count);
        j.valid[i] = (int32_t)count;
        j.counted[i] = pool_divisor(a, i / o->inner, p->count_pad);
    }
    const size_t reach = (a->taps - 1) * a->dilation + 1;
    j.inside = nacre_min(nacre_strides(a->pad, a->stride), a->out);
    j.outside = a->pad + a->in < reach ? 0 : nacre_min(a->out, (a->pad + a->in - reach) / a->stride + 1);
    if (j.outside < j.inside) j.outside = j.inside;
    i8_pooling_start(&j, team, p->planes * j.cells, a->in * o->inner * (taps + 1),
                     way == I8_POOLING_LINES ? i8_pooling_lines : i8_pooling_rows);
}

// ---- command ----

enum { I8_POOLING_X, I8_POOLING_X_SCALE, I8_POOLING_X_ZERO, I8_POOLING_Y_SCALE, I8_POOLING_Y_ZERO, I8_POOLING_Y,
      I8_POOLING_OPERANDS };

static i8_pooling i8_pooling_of(const nacre_kernel *kernel, const nacre_i8_pooling_words *w) {
    return (i8_pooling){.impl = ((nacre_i8_pooling_fn *)kernel->fn)(), .p = nacre_pooling_of(&w->extents),
                        .inner = (size_t)w->inner,
                              .mean = {.is_signed = w->is_signed != 0}};
}

static size_t i8_pooling_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const i8_pooling o = i8_pooling_of(kernel, (const void *)words);
    i8_pooling_job j = {.o = &o};
    return i8_pooling_layout(&o, threads, NULL, &j);
}

static float i8_pooling_scale(const nacre_i8_pooling_words *w, int64_t type, const void *x) {
    float scale;
    if (type == NACRE_DTYPE_f32) return *(const float *)x;
    ((nacre_half_fn *)nacre_part_fn(w->half))()->widen[type](x, &scale, 1);
    return scale;
}

static int32_t i8_pooling_zero(int is_signed, const void *x) {
    return x == NULL ? 0 : is_signed ? *(const int8_t *)x : *(const uint8_t *)x;
}

static void i8_pooling_command(const nacre_call *c, i8_pooling_way way) {
    const nacre_i8_pooling_words *const w = (const void *)c->words;
    i8_pooling o = i8_pooling_of(c->kernel, w);
    o.team = c->team;
    if (!o.p.max) {
        const int is_signed = o.mean.is_signed;
        const int32_t zero = i8_pooling_zero(is_signed, nacre_operand(c, I8_POOLING_Y_ZERO));
        o.mean.x_zero = i8_pooling_zero(is_signed, nacre_operand(c, I8_POOLING_X_ZERO));
        o.mean.ratio = i8_pooling_scale(w, w->x_type, nacre_operand(c, I8_POOLING_X_SCALE)) /
                       i8_pooling_scale(w, w->y_type, nacre_operand(c, I8_POOLING_Y_SCALE));
        o.mean.before = w->after ? 0 : zero;
        o.mean.after = w->after ? zero : 0;
    }
    i8_pooling_run(&o, way, c->team, nacre_operand(c, I8_POOLING_X), c->scratch, nacre_operand(c, I8_POOLING_Y));
}

#define WAY(name, way)                                                                                     \
    static void name##_command(const nacre_call *c) { i8_pooling_command(c, way); }                        \
    static int name##_fits(const nacre_kernel *kernel, const int64_t *words) {                             \
        const i8_pooling o = i8_pooling_of(kernel, (const void *)words);                                   \
        return i8_pooling_way_of(&o) == way;                                                               \
    }                                                                                                      \
    const nacre_entry nacre_i8_pooling_##name##_entry = {                                                  \
        .words = sizeof(nacre_i8_pooling_words) / 8, .operands = I8_POOLING_OPERANDS,                      \
        .run = name##_command, .fits = name##_fits, .scratch = i8_pooling_scratch,                         \
    };

WAY(cells, I8_POOLING_CELLS)
WAY(totals, I8_POOLING_TOTALS)
WAY(lines, I8_POOLING_LINES)
WAY(rows, I8_POOLING_ROWS)
