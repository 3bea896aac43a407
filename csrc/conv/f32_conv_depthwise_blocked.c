// Command f32_conv_depthwise_blocked.
#include "conv/blocked.h"
#include "conv/command.h"

enum {
    BLOCKED_GRAIN = 1 << 16,  // multiply-adds of a chunk of work
    BLOCKED_BAND = 1 << 9,    // pixels of a slice from which threads share it by rows
    BLOCKED_PIECE = 1 << 11   // floats of rows processed at a time if several passes go over them
};

typedef struct {
    size_t in, out, kernel, stride, dilation, pad;
} blocked_axis;

typedef struct {
    const nacre_f32_blocked_depthwise_impl *impl;
    nacre_conv c;
    size_t block, blocks;
    size_t channels;         // of the result
    blocked_axis d, h;       // of slices, and of rows
    size_t columns;          // the axis of the columns
    size_t rows, rows_each;  // of the result in all, and of a chunk
    size_t bands;            // of the rows of a slice. Chunks follow each band through all slices
    nacre_conv_span *meet;   // under each column of the kernel
    int32_t *from;           // of rows
    size_t begin, stop;      // under all columns
    size_t begin_h, stop_h;  // the rows that meet no padding
    const float *x, *w, *bias, *add;
    float *y;
    nacre_f32_finish finish;
} blocked_job;

// Returns axis d, or an axis of one position if there is none.
static blocked_axis blocked_axis_of(const nacre_conv *c, size_t d) {
    if (d >= c->axes) return (blocked_axis){1, 1, 1, 1, 1, 0};
    return (blocked_axis){c->in[d], c->out[d], c->kernel[d], c->stride[d], c->dilation[d], c->pad[d]};
}

static blocked_job blocked_of(const nacre_kernel *kernel, const nacre_conv_blocked_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    blocked_job j = {.impl = ((nacre_f32_blocked_depthwise_fn *)kernel->fn)(), .c = c, .block = (size_t)w->block,
                     .columns = c.axes - 1};
    j.channels = c.groups * c.filters;
    j.blocks = nacre_ceil_div(j.channels, j.block);
    j.d = blocked_axis_of(&c, c.axes - 3);
    j.h = blocked_axis_of(&c, c.axes - 2);
    j.rows = c.images * j.blocks * j.d.out * j.h.out;
    const size_t work = c.out[j.columns] * conv_count(c.kernel, c.axes) * c.channels * j.block;
    j.rows_each = work >= BLOCKED_GRAIN || work == 0 ? 1 : BLOCKED_GRAIN / work;
    j.bands = 1;
    return j;
}

// Returns the positions of the result along an axis that meet no padding under position k of the
// kernel.
static nacre_conv_span blocked_span(const blocked_axis *a, size_t k) {
    const size_t at = k * a->dilation, end = a->in + a->pad;
    return (nacre_conv_span){.first = at >= a->pad ? 0 : nacre_min(a->out, nacre_strides(a->pad - at, a->stride)),
                             .stop = at >= end ? 0 : nacre_min(a->out, nacre_strides(end - at, a->stride))};
}

// Sets the ranges that meet no padding: under each column of the kernel, under all, and rows.
static void blocked_meets(blocked_job *j) {
    const blocked_axis w = blocked_axis_of(&j->c, j->columns);
    for (size_t kx = 0; kx < w.kernel; kx++) j->meet[kx] = blocked_span(&w, kx);
    j->begin = j->meet[0].first;
    j->stop = nacre_max(j->begin, j->meet[w.kernel - 1].stop);
    j->begin_h = blocked_span(&j->h, 0).first;
    j->stop_h = blocked_span(&j->h, j->h.kernel - 1).stop;
}

// Returns the number of positions of the kernel along an axis that meet the value from position o
// of the result, and sets *first to the first of them and *at to its position in the value.
static size_t blocked_meet(const blocked_axis *a, size_t o, size_t *first, size_t *at) {
    const size_t from = o * a->stride, end = a->in + a->pad;
    const size_t begin = from >= a->pad ? 0 : nacre_strides(a->pad - from, a->dilation);
    const size_t stop = from >= end ? 0 : nacre_min(a->kernel, nacre_strides(end - from, a->dilation));
    *first = *at = 0;
    if (stop <= begin) return 0;
    *first = begin;
    *at = from + begin * a->dilation - a->pad;
    return stop - begin;
}

// Computes rows of the result from row o of a slice on: one row, or rows that meet no padding.
// Slices of the kernel are added one after the other, with partial sums in the result.
static void blocked_rows(const blocked_job *j, size_t slice, size_t o, size_t rows, const float *bias) {
    static const float zeros[NACRE_CONV_BLOCK];
    const nacre_f32_finish none = {0};
    const size_t d = j->columns, plane = slice / j->d.out, width = j->c.in[d] * j->block,
        y = (slice * j->h.out + o) * j->c.out[d] * j->block;
    const size_t taps = j->c.kernel[d] * j->c.channels * j->block;
    size_t first_d, at_d, first, at;
    const size_t slices = blocked_meet(&j->d, slice % j->d.out, &first_d, &at_d);
    nacre_f32_blocked_rows r = {.rows = rows, .bias = bias, .block = j->block};
    r.kernel_h = blocked_meet(&j->h, o, &first, &at);
    if (slices == 0) r.kernel_h = 0;
    r.x = j->x + ((plane * j->d.in + at_d) * j->h.in + at) * width;
    r.w = j->w + ((plane % j->blocks * j->d.kernel + first_d) * j->h.kernel + first) * taps;
    r.channels = j->c.channels;
    r.from = j->from;
    r.next = j->h.stride * width;
    r.gap = j->h.dilation * width;
    r.add = j->add == NULL ? NULL : j->add + y;
    r.y = j->y + y;
    r.in = j->c.in[d];
    r.out = j->c.out[d];
    r.kernel_w = j->c.kernel[d];
    r.stride = j->c.stride[d];
    r.dilation = j->c.dilation[d];
    r.pad = j->c.pad[d];
    r.meet = j->meet;
    r.begin = j->begin;
    r.stop = j->stop;
    const size_t passes = r.kernel_h == 0 ? 1 : slices;
    for (size_t k = 1; k <= passes; k++) {
        r.finish = k < passes ? &none : &j->finish;
        j->impl->rows(&r);
        r.bias = zeros;
        r.add = r.y;
        r.x += j->d.dilation * j->h.in * width;
        r.w += j->h.kernel * taps;
    }
    if (j->finish.map != NULL) j->finish.map(r.y, r.y, rows * r.out * j->block, j->finish.params);
}

// Sets *slice and *o to row i of the order of rows, and returns the rows left in its band.
static size_t blocked_at(const blocked_job *j, size_t i, size_t *slice, size_t *o) {
    const size_t slices = j->rows / j->h.out;
    size_t band = 0, first = 0, end = j->h.out / j->bands;
    while (i >= slices * end) {
        band++;
        first = end;
        end = (band + 1) * j->h.out / j->bands;
    }
    *slice = (i - slices * first) / (end - first);
    *o = first + (i - slices * first) % (end - first);
    return end - *o;
}

static void blocked_chunk(void *job, size_t chunk, size_t thread) {
    const blocked_job *const j = job;
    (void)thread;
    const size_t stop = nacre_min(j->rows, (chunk + 1) * j->rows_each);
    const size_t most = j->finish.map == NULL && j->d.kernel == 1 ? j->h.out
        : nacre_max(1, BLOCKED_PIECE / (j->c.out[j->columns] * j->block));
    float bias[NACRE_CONV_BLOCK];
    for (size_t i = chunk * j->rows_each, before = j->rows, rows; i < stop; i += rows) {
        size_t slice, o;
        const size_t left = nacre_min(stop - i, blocked_at(j, i, &slice, &o));
        const size_t channel = slice / j->d.out % j->blocks * j->block;
        for (size_t k = 0; slice != before && k < j->block; k++) {
            bias[k] = j->bias == NULL || channel + k >= j->channels ? 0 : j->bias[channel + k];
        }
        before = slice;
        rows = o < j->begin_h || o >= j->stop_h ? 1 : nacre_min(most, nacre_min(left, j->stop_h - o));
        blocked_rows(j, slice, o, rows, bias);
    }
}

// Cuts rows into chunks of whole slices, so that threads share the slices evenly, as other
// convolutions do that wrote them.
static void blocked_share(blocked_job *j, size_t threads) {
    const size_t slices = j->rows / j->h.out;
    if (threads < 2 || j->bands > 1 || slices < threads) return;
    const size_t each = nacre_ceil_div(slices, threads);
    size_t pieces = nacre_min(each, nacre_ceil_div(each * j->h.out, j->rows_each));
    while (each % pieces != 0) pieces++;
    j->rows_each = each / pieces * j->h.out;
}

static int blocked_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_conv_blocked_words *const w = (const void *)words;
    const blocked_job j = blocked_of(kernel, w);
    const size_t lanes = j.impl->lanes, group = j.c.channels;
    if (group == 0 || group != j.c.filters || j.block % group != 0 || (lanes > 1 && lanes % group != 0)) return 0;
    return w->conv.type == NACRE_DTYPE_f32 && j.c.axes <= 3 && nacre_conv_is_small(&j.c) &&
        j.block <= NACRE_CONV_BLOCK && j.block % lanes == 0;
}

static size_t blocked_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)threads;
    const blocked_job j = blocked_of(kernel, (const void *)words);
    return j.c.kernel[j.columns] * sizeof(nacre_conv_span) + j.c.channels * j.impl->lanes * sizeof(int32_t);
}

static size_t blocked_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    const blocked_job j = blocked_of(kernel, (const void *)words);
    return operand == CONV_W ? j.blocks * conv_depth(&j.c) * j.block * sizeof(float) : 0;
}

// Weights are [filters][channels][kernel]. Packed they are [blocks][kernel][channels][block], with
// zeros after the last filter.
static void blocked_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    const blocked_job j = blocked_of(kernel, (const void *)words);
    const size_t taps = conv_count(j.c.kernel, j.c.axes);
    float *out = dst;
    for (size_t b = 0; b < j.blocks; b++) {
        for (size_t tap = 0; tap < taps; tap++) {
            for (size_t k = 0; k < j.c.channels; k++) {
                for (size_t f = b * j.block; f < (b + 1) * j.block; f++) {
                    *out++ = f < j.channels ? nacre_f32_at(src, (f * j.c.channels + k) * taps + tap) : 0;
                }
            }
        }
    }
}

static void blocked_command(const nacre_call *c) {
    const nacre_conv_blocked_words *const w = (const void *)c->words;
    blocked_job j = blocked_of(c->kernel, w);
    j.x = nacre_operand(c, CONV_X);
    j.w = nacre_operand(c, CONV_W);
    j.bias = nacre_operand(c, CONV_BIAS);
    j.add = nacre_operand(c, CONV_ADD);
    j.y = nacre_operand(c, CONV_Y);
    j.finish = conv_finish(&w->conv);
    j.meet = c->scratch;
    const size_t threads = nacre_team_threads(c->team);
    if (j.h.out * j.c.out[j.columns] >= BLOCKED_BAND && j.h.out >= threads) j.bands = threads;
    blocked_share(&j, threads);
    j.from = (int32_t *)(j.meet + j.c.kernel[j.columns]);
    blocked_meets(&j);
    for (size_t i = 0; i < j.c.channels * j.impl->lanes; i++) {
        j.from[i] = (int32_t)(i % j.impl->lanes / j.c.channels * j.c.channels + i / j.impl->lanes);
    }
    nacre_parallel(c->team, nacre_ceil_div(j.rows, j.rows_each), blocked_chunk, &j);
}

const nacre_entry nacre_f32_conv_depthwise_blocked_entry = {
    .words = sizeof(nacre_conv_blocked_words) / 8, .operands = CONV_OPERANDS, .run = blocked_command,
    .fits = blocked_fits, .scratch = blocked_scratch, .packed = blocked_packed, .pack = blocked_pack, .unaligned = 1,
};
