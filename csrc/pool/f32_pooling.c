// Command f32_pooling.
#include <math.h>

#include "core/simd.h"
#include "pool/pool.h"
#include "pool/window.h"

enum {
    POOL_BATCH = 4,       // output rows joined before the first is read, because a row just stored is slow to load
};

// Returns the floats of a row's buffer.
static inline size_t pool_buffer(const nacre_pooling_axis *a) {
    return a->in + 2 * NACRE_POOLING_PAD + NACRE_POOLING_SLACK;
}

// Returns the floats of the buffers of a thread.
static inline size_t pool_buffers(const nacre_pooling *p, nacre_dtype type) {
    const nacre_pooling_axis *const a = &p->axis[p->axes - 1];
    return POOL_BATCH * pool_buffer(a) + (type == NACRE_DTYPE_f32 ? 0 : NACRE_POOLING_ROWS * a->in + a->out);
}

typedef struct {
    const nacre_f32_pooling_impl *impl;
    const nacre_half *half;
    nacre_dtype type;
    const nacre_pooling *p;
    const void *x;
    void *out;
    float *counts;          // of the last axis, by output
    float *buffers;         // of each thread: rows, and for 16-bit floats rows of the value and of the output as floats
    size_t in_plane;        // elements
    size_t rows_per_plane;  // of the output
    size_t per_chunk;       // rows
    size_t lead;            // cells before the row in a buffer
    size_t inside, outside; // outputs of the last axis with all taps in the buffer, inside..outside-1
    const nacre_team *team;
} pooling_job;

// The input rows that are joined into one row.
typedef struct {
    const float *list[NACRE_POOLING_ROWS];
    size_t count;
    bool fresh;
    float *buf;
    float *widened;  // memory for widened rows of 16-bit floats
} pooling_rows;

static inline size_t pool_size(const pooling_job *j) { return j->type == NACRE_DTYPE_f32 ? 4 : 2; }

// Lists the row of the value that begins at element `at`.
static void pooling_list(const pooling_job *j, pooling_rows *r, size_t at) {
    const size_t width = j->p->axis[j->p->axes - 1].in;
    const void *const x = (const char *)j->x + at * pool_size(j);
    float *const floats = r->widened + r->count * width;
    if (j->type != NACRE_DTYPE_f32) j->half->widen[j->type](x, floats, width);
    r->list[r->count++] = j->type == NACRE_DTYPE_f32 ? x : floats;
}

static void pooling_flush(const pooling_job *j, pooling_rows *r) {
    if (r->count == 0) return;
    j->impl->rows(r->list, r->count, j->p->max, r->fresh, j->p->axis[j->p->axes - 1].in, r->buf);
    r->fresh = false;
    r->count = 0;
}

// Joins the input rows under the window at `at`, which has one index per axis but the last.
static void pooling_join(const pooling_job *j, size_t plane, const size_t *at, float *widened, float *buf) {
    const nacre_pooling *p = j->p;
    const size_t outer = p->axes - 1, width = p->axis[outer].in;
    size_t start[NACRE_POOLING_AXES], count[NACRE_POOLING_AXES], tap[NACRE_POOLING_AXES];
    bool empty = false;
    for (size_t a = 0; a < outer; a++) {
        const nacre_pooling_axis *x = &p->axis[a];
        size_t first;
        pool_taps(x, at[a], &first, &count[a]);
        start[a] = at[a] * x->stride + first * x->dilation - x->pad;
        tap[a] = 0;
        empty = empty || count[a] == 0;
    }
    if (empty) {
        NACRE_SIMD for (size_t i = 0; i < width; i++) buf[i] = p->max ? -INFINITY : 0.0f;
        return;
    }
    // The last of these axes is a loop, the others are an odometer.
    pooling_rows r = {.count = 0, .fresh = true, .buf = buf, .widened = widened};
    const size_t inner = outer == 0 ? 0 : outer - 1;
    const size_t rows = outer == 0 ? 1 : count[inner], step = outer == 0 ? 0 : p->axis[inner].dilation * width;
    for (bool more = true; more;) {
        size_t row = 0;
        for (size_t a = 0; a < inner; a++) row = row * p->axis[a].in + start[a] + tap[a] * p->axis[a].dilation;
        const size_t x = plane + (outer == 0 ? 0 : row * p->axis[inner].in + start[inner]) * width;
        for (size_t k = 0; k < rows; k++) {
            pooling_list(j, &r, x + k * step);
            if (r.count < NACRE_POOLING_ROWS) continue;
            pooling_flush(j, &r);
            if (nacre_stopped(j->team)) return;
        }
        more = false;
        for (size_t a = inner; a-- > 0 && !more;) {
            more = ++tap[a] < count[a];
            if (!more) tap[a] = 0;
        }
    }
    pooling_flush(j, &r);
}

// Computes n outputs with all taps in the row.
static void pooling_inside(const pooling_job *j, const float *row, size_t n, nacre_pooling_cols c, float *out) {
    const size_t piece = pool_piece(c.taps);
    for (; n > piece && !nacre_stopped(j->team); n -= piece, row += piece * c.stride, out += piece, c.counts += piece) {
        j->impl->cols(row, piece, &c, out);
    }
    j->impl->cols(row, nacre_min(n, piece), &c, out);
}

// Computes the outputs of the joined row. Those with taps beyond the buffer are computed one by
// one.
static void pooling_row(const pooling_job *j, const float *buf, float outer, float *out) {
    const nacre_pooling_axis *a = &j->p->axis[j->p->axes - 1];
    nacre_pooling_cols c = {a->taps, a->dilation, a->stride, j->p->max, j->counts, outer};
    for (size_t o = 0; o < a->out && !nacre_stopped(j->team); o++) {
        if (o == j->inside && j->outside > j->inside) {
            c.counts = j->counts + o;
            pooling_inside(j, buf - j->lead + (o * a->stride - (a->pad - j->lead)), j->outside - o, c, out + o);
            o = j->outside - 1;
            continue;
        }
        size_t first, count;
        pool_taps(a, o, &first, &count);
        float acc = j->p->max ? -INFINITY : 0.0f;
        for (size_t t = 0; t < count; t++) {
            const float v = buf[o * a->stride + (first + t) * a->dilation - a->pad];
            acc = !j->p->max ? acc + v : v > acc ? v : acc;
        }
        out[o] = j->p->max ? acc : acc / (j->counts[o] * outer);
    }
}

static void pooling_task(void *job, size_t chunk, size_t thread) {
    const pooling_job *j = job;
    const nacre_pooling *p = j->p;
    const size_t outer = p->axes - 1;
    const size_t size = pool_buffer(&p->axis[outer]);
    float *const buffers = j->buffers + thread * pool_buffers(p, j->type), *const widened = buffers + POOL_BATCH * size;
    float *const row = widened + NACRE_POOLING_ROWS * p->axis[outer].in;
    NACRE_SIMD for (size_t i = 0; i < POOL_BATCH * size; i++) buffers[i] = p->max ? -INFINITY : 0.0f;
    const size_t first = chunk * j->per_chunk, last = nacre_min(first + j->per_chunk, p->planes * j->rows_per_plane);
    size_t plane = first / j->rows_per_plane * j->in_plane;
    size_t at[NACRE_POOLING_AXES], rest = first % j->rows_per_plane;
    for (size_t a = outer; a-- > 0; rest /= p->axis[a].out) at[a] = rest % p->axis[a].out;
    for (size_t r = first; r < last;) {
        const size_t n = nacre_min(POOL_BATCH, last - r);
        float divisor[POOL_BATCH];
        for (size_t k = 0; k < n; k++) {
            divisor[k] = 1.0f;
            for (size_t a = 0; a < outer && !p->max; a++) divisor[k] *= pool_divisor(&p->axis[a], at[a], p->count_pad);
            pooling_join(j, plane, at, widened, buffers + k * size + j->lead);
            size_t a = outer;
            while (a > 0 && ++at[a - 1] == p->axis[a - 1].out) at[--a] = 0;
            if (a == 0) plane += j->in_plane;
        }
        for (size_t k = 0; k < n; k++, r++) {
            const size_t n_out = p->axis[outer].out;
            void *const out = (char *)j->out + r * n_out * pool_size(j);
            pooling_row(j, buffers + k * size + j->lead, divisor[k], j->type == NACRE_DTYPE_f32 ? out : row);
            if (j->type != NACRE_DTYPE_f32) j->half->narrow[j->type](row, out, n_out);
        }
    }
}

static size_t pooling_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    const nacre_f32_pooling_words *const w = (const void *)words;
    const nacre_pooling p = nacre_pooling_of(&w->extents);
    return (p.axis[p.axes - 1].out + threads * pool_buffers(&p, (nacre_dtype)w->type)) * sizeof(float);
}

static void pooling_command(const nacre_call *c) {
    const nacre_f32_pooling_words *const w = (const void *)c->words;
    const nacre_pooling p = nacre_pooling_of(&w->extents);
    const nacre_pooling_axis *const a = &p.axis[p.axes - 1];
    float *const scratch = c->scratch;
    pooling_job j = {
        .impl = ((nacre_f32_pooling_fn *)c->kernel->fn)(), .type = (nacre_dtype)w->type, .p = &p,
        .x = nacre_operand(c, 0),
        .out = nacre_operand(c, 1), .counts = scratch, .buffers = scratch + a->out, .in_plane = a->in,
        .rows_per_plane = 1, .team = c->team,
    };
    if (j.type != NACRE_DTYPE_f32) j.half = ((nacre_half_fn *)nacre_part_fn(w->half))();
    size_t taps = 1;
    for (size_t i = 0; i + 1 < p.axes; i++) {
        j.in_plane *= p.axis[i].in;
        j.rows_per_plane *= p.axis[i].out;
        taps *= nacre_min(p.axis[i].taps, p.axis[i].in);
    }
    for (size_t o = 0; o < a->out; o++) j.counts[o] = pool_divisor(a, o, p.count_pad);
    const size_t reach = (a->taps - 1) * a->dilation + 1, end = a->pad + a->in + NACRE_POOLING_PAD;
    j.lead = nacre_min(a->pad, NACRE_POOLING_PAD);
    j.inside = nacre_strides(a->pad - j.lead, a->stride);
    j.outside = end < reach ? 0 : nacre_min(a->out, (end - reach) / a->stride + 1);
    const size_t work = a->in * (taps + 1);
    j.per_chunk = work >= POOL_GRAIN ? 1 : POOL_GRAIN / work;
    nacre_parallel(c->team, nacre_strides(p.planes * j.rows_per_plane, j.per_chunk), pooling_task, &j);
}

const nacre_entry nacre_f32_pooling_entry = {
    .words = sizeof(nacre_f32_pooling_words) / 8, .operands = 2, .run = pooling_command, .scratch = pooling_scratch,
};
