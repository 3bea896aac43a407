// Command f32_conv_depthwise_blocked.
#include "conv/blocked.h"
#include "conv/command.h"

enum {
    BLOCKED_GRAIN = 1 << 16,  // multiply-adds of a chunk of work
    BLOCKED_PIECE = 1 << 11   // floats of rows that a function of elements follows, where a row has less
};

typedef struct {
    const nacre_f32_blocked_depthwise_impl *impl;
    nacre_conv c;
    size_t block, blocks;
    size_t channels;         // of the result
    size_t in_h, out_h, kernel_h, stride_h, dilation_h, pad_h, columns;  // columns is the axis of the columns
    size_t rows, rows_each;  // of the result in all, of a chunk
    nacre_conv_span *meet;   // under each column of the kernel
    int32_t *from;           // of rows
    size_t begin, stop;      // under all of them
    size_t begin_h, stop_h;  // the rows that meet no padding
    const float *x, *w, *bias, *add;
    float *y;
    nacre_f32_finish finish;
} blocked_job;

static blocked_job blocked_of(const nacre_kernel *kernel, const nacre_conv_blocked_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const int flat = c.axes == 1;
    blocked_job j = {.impl = ((nacre_f32_blocked_depthwise_fn *)kernel->fn)(), .c = c, .block = (size_t)w->block, .columns = c.axes - 1};
    j.channels = c.groups * c.filters;
    j.blocks = nacre_ceil_div(j.channels, j.block);
    j.in_h = flat ? 1 : c.in[0];
    j.out_h = flat ? 1 : c.out[0];
    j.kernel_h = flat ? 1 : c.kernel[0];
    j.stride_h = flat ? 1 : c.stride[0];
    j.dilation_h = flat ? 1 : c.dilation[0];
    j.pad_h = flat ? 0 : c.pad[0];
    j.rows = c.images * j.blocks * j.out_h;
    const size_t work = c.out[j.columns] * conv_count(c.kernel, c.axes) * c.channels * j.block;
    j.rows_each = work >= BLOCKED_GRAIN || work == 0 ? 1 : BLOCKED_GRAIN / work;
    return j;
}

// The positions of the result along axis d that meet no padding under position k of the kernel.
static nacre_conv_span blocked_span(const nacre_conv *c, size_t d, size_t k) {
    const size_t at = k * c->dilation[d], end = c->in[d] + c->pad[d];
    return (nacre_conv_span){.first = at >= c->pad[d] ? 0 : nacre_min(c->out[d], nacre_strides(c->pad[d] - at, c->stride[d])),
                             .stop = at >= end ? 0 : nacre_min(c->out[d], nacre_strides(end - at, c->stride[d]))};
}

// What meets no padding: under each column of the kernel, under all, and rows.
static void blocked_meets(blocked_job *j) {
    const size_t d = j->columns, last = j->c.kernel[d] - 1;
    for (size_t kx = 0; kx <= last; kx++) j->meet[kx] = blocked_span(&j->c, d, kx);
    j->begin = j->meet[0].first;
    j->stop = nacre_max(j->begin, j->meet[last].stop);
    j->stop_h = 1;
    if (j->c.axes == 1) return;
    j->begin_h = blocked_span(&j->c, 0, 0).first;
    j->stop_h = blocked_span(&j->c, 0, j->kernel_h - 1).stop;
}

// The rows of the kernel that meet the value from row o of the result: from *first on.
static size_t blocked_meet(const blocked_job *j, size_t o, size_t *first) {
    const size_t at = o * j->stride_h, end = j->in_h + j->pad_h;
    const size_t begin = at >= j->pad_h ? 0 : nacre_strides(j->pad_h - at, j->dilation_h);
    const size_t stop = at >= end ? 0 : nacre_min(j->kernel_h, nacre_strides(end - at, j->dilation_h));
    *first = begin;
    return stop > begin ? stop - begin : 0;
}

// Rows of the result of a plane from row o on, one or such as meet no padding.
static void blocked_rows(const blocked_job *j, size_t plane, size_t o, size_t rows, const float *bias) {
    const size_t d = j->columns, width = j->c.in[d] * j->block, y = (plane * j->out_h + o) * j->c.out[d] * j->block;
    size_t first;
    nacre_f32_blocked_rows r = {.rows = rows, .x = j->x, .w = j->w, .bias = bias, .block = j->block, .finish = &j->finish};
    r.kernel_h = blocked_meet(j, o, &first);
    if (r.kernel_h > 0) {
        r.x += (plane * j->in_h + o * j->stride_h + first * j->dilation_h - j->pad_h) * width;
        r.w += (plane % j->blocks * j->kernel_h + first) * j->c.kernel[d] * j->c.channels * j->block;
    }
    r.channels = j->c.channels;
    r.from = j->from;
    r.next = j->stride_h * width;
    r.gap = j->dilation_h * width;
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
    j->impl->rows(&r);
    if (j->finish.map != NULL) j->finish.map(r.y, r.y, rows * r.out * j->block, j->finish.params);
}

static void blocked_chunk(void *job, size_t chunk, size_t thread) {
    const blocked_job *const j = job;
    (void)thread;
    const size_t first = chunk * j->rows_each, stop = nacre_min(j->rows, first + j->rows_each);
    const size_t most = j->finish.map == NULL ? j->out_h : nacre_max(1, BLOCKED_PIECE / (j->c.out[j->columns] * j->block));
    float bias[NACRE_CONV_BLOCK];
    for (size_t i = first, plane = first / j->out_h, o = first % j->out_h, rows = 0; i < stop; i += rows) {
        if (i == first || o == 0) {
            const size_t channel = plane % j->blocks * j->block;
            for (size_t k = 0; k < j->block; k++) bias[k] = j->bias == NULL || channel + k >= j->channels ? 0 : j->bias[channel + k];
        }
        rows = o < j->begin_h || o >= j->stop_h ? 1 : nacre_min(most, nacre_min(stop - i, j->stop_h - o));
        blocked_rows(j, plane, o, rows, bias);
        o += rows;
        if (o < j->out_h) continue;
        o = 0;
        plane++;
    }
}

static int blocked_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_conv_blocked_words *const w = (const void *)words;
    const blocked_job j = blocked_of(kernel, w);
    const size_t lanes = j.impl->lanes, group = j.c.channels;
    if (group == 0 || group != j.c.filters || j.block % group != 0 || (lanes > 1 && lanes % group != 0)) return 0;
    return w->conv.type == NACRE_FLOAT32 && nacre_conv_is_small(&j.c) && j.block <= NACRE_CONV_BLOCK && j.block % lanes == 0;
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

// Weights are [filters][channels][kernel]; packed, [blocks][kernel][channels][block] with zeros
// behind the last filter.
static void blocked_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    const blocked_job j = blocked_of(kernel, (const void *)words);
    const size_t taps = conv_count(j.c.kernel, j.c.axes);
    const float *const w = src;
    float *out = dst;
    for (size_t b = 0; b < j.blocks; b++) {
        for (size_t tap = 0; tap < taps; tap++) {
            for (size_t k = 0; k < j.c.channels; k++) {
                for (size_t f = b * j.block; f < (b + 1) * j.block; f++) *out++ = f < j.channels ? w[(f * j.c.channels + k) * taps + tap] : 0;
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
    j.from = (int32_t *)(j.meet + j.c.kernel[j.columns]);
    blocked_meets(&j);
    for (size_t i = 0; i < j.c.channels * j.impl->lanes; i++) {
        j.from[i] = (int32_t)(i % j.impl->lanes / j.c.channels * j.c.channels + i / j.impl->lanes);
    }
    nacre_parallel(c->team, nacre_ceil_div(j.rows, j.rows_each), blocked_chunk, &j);
}

const nacre_entry nacre_f32_conv_depthwise_blocked_entry = {
    .words = sizeof(nacre_conv_blocked_words) / 8, .operands = CONV_OPERANDS, .run = blocked_command, .fits = blocked_fits,
    .scratch = blocked_scratch, .packed = blocked_packed, .pack = blocked_pack,
};
