// Drivers of f32 convolutions: weights times columns, or taps for groups of one
// channel. With a 1x1 kernel that does not skip positions the columns are the
// value itself; else they are made where the product packs them, never as a whole.
#include <string.h>

#include "conv/conv.h"
#include "conv/space.h"

static size_t conv_depth(const nacre_conv *c) { return c->channels * conv_count(c->kernel, c->axes); }

static int is_pointwise(const nacre_conv *c) {
    for (size_t d = 0; d < c->axes; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return 0;
    }
    return 1;
}

size_t nacre_f32_conv_packed(const nacre_conv *c, const nacre_f32_gemm_impl *impl) {
    return c->groups * nacre_f32_gemm_packed_a(impl, c->filters, conv_depth(c));
}

static int conv_half(const nacre_f32_conv *j) { return j->type != NACRE_FLOAT32; }

// Element i of what lies in the type of the convolution.
static void *conv_at(nacre_float_type type, const void *p, size_t i) { return (char *)p + i * (type == NACRE_FLOAT32 ? 4 : 2); }

void nacre_f32_conv_pack(const nacre_conv *c, const nacre_f32_gemm_impl *impl, nacre_float_type type, const void *w, void *dst) {
    const size_t k = conv_depth(c), size = nacre_f32_gemm_packed_a(impl, c->filters, k);
    for (size_t g = 0; g < c->groups; g++) {
        const nacre_f32_operand a = {conv_at(type, w, g * c->filters * k), 0, type, k, 1};
        nacre_f32_gemm_pack_a(impl, c->filters, k, &a, conv_at(type, dst, g * size));
    }
}

// ---- by a product ----

enum { CONV_BATCH = 6 };  // extents and strides of the batch axes: images, groups

static void make_columns(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    const nacre_f32_conv *const j = source;
    const void *const x = conv_at(j->type, j->x, index * j->c.channels * conv_count(j->c.in, j->c.axes));
    if (conv_half(j)) {
        nacre_half_im2col(j->gemm->half(), j->type, &j->c, x, k0, k, j0, n, j->gemm->nr, dst);
    } else {
        j->im2col(&j->c, x, k0, k, j0, n, j->gemm->nr, dst);
    }
}

static nacre_f32_gemm conv_product(const nacre_f32_conv *j, size_t *axes) {
    const nacre_conv *const c = &j->c;
    const size_t k = conv_depth(c), n = conv_count(c->out, c->axes);
    nacre_f32_gemm g = {.impl = j->gemm, .m = c->filters, .n = n, .k = k, .alpha = 1, .c = j->y, .c_type = j->type, .ldc = n, .finish = j->finish};
    g.a = (nacre_f32_operand){j->w, j->packed, j->type, k, 1};
    g.row = j->bias;
    g.row_count = c->groups;
    const size_t w_step = j->packed ? nacre_f32_gemm_packed_a(j->gemm, c->filters, k) : c->filters * k;
    if (is_pointwise(c)) {
        g.b = (nacre_f32_operand){j->x, 0, j->type, n, 1};
    } else {
        g.make_b = make_columns;
        g.source = j;
    }
    const size_t batch[CONV_BATCH] = {c->images, c->groups, 0, w_step, c->groups * c->channels * n, c->channels * n};
    memcpy(axes, batch, sizeof batch);
    g.batch = (nacre_batch){2, axes};
    return g;
}

// ---- by taps ----
//
// A band of rows of the value, with its padding, is copied to scratch such that
// the columns that one tap meets lie side by side: a row becomes as many parts as
// the stride, part p with columns p, p + stride, ... Then every tap is an offset.

enum {
    TAPS_BAND = 16384,  // elements of a band
    TAPS_MOST = 1024,   // taps of a kernel
    TAPS_GRAIN = 65536, // multiply-adds of one chunk of work
    TAPS_REACH = 1 << 22 // elements of the least band that is worth copying
};

typedef struct {
    const nacre_f32_conv *j;
    size_t in_h, in_w, out_h, out_w;
    size_t kernel_h, step_h, step_w, gap_h, gap_w, pad_h, pad_w;
    size_t part;         // columns of a part of a row
    size_t row;          // elements of a row
    size_t band;         // rows of the result from one band
    size_t band_size;    // elements of a band
    size_t x_size, y_size;  // elements of a group of value and result, as floats, if they are 16-bit floats
    size_t groups_each;  // planes of the value of one chunk
    size_t taps, offset[TAPS_MOST];
    float *scratch;
} taps_plan;

int nacre_f32_conv_by_taps(const nacre_conv *c) {
    return c->channels == 1 && c->axes <= 2 && conv_count(c->kernel, c->axes) <= TAPS_MOST;
}

// Returns whether taps are the way: strides and gaps may be so wide that a band
// would be mostly what no tap meets.
static int plan_taps(taps_plan *p, const nacre_f32_conv *j) {
    const nacre_conv *const c = &j->c;
    if (j->packed || !nacre_f32_conv_by_taps(c)) return 0;
    const size_t w = c->axes - 1;
    const int flat = c->axes == 1;
    *p = (taps_plan){.j = j, .in_h = flat ? 1 : c->in[0], .in_w = c->in[w], .out_h = flat ? 1 : c->out[0], .out_w = c->out[w]};
    p->kernel_h = flat ? 1 : c->kernel[0];
    p->step_h = flat ? 1 : c->stride[0];
    p->gap_h = flat ? 1 : c->dilation[0];
    p->pad_h = flat ? 0 : c->pad[0];
    p->step_w = c->stride[w];
    p->gap_w = c->dilation[w];
    p->pad_w = c->pad[w];
    const size_t columns = (p->out_w - 1) * p->step_w + (c->kernel[w] - 1) * p->gap_w + 1;
    p->part = (columns + p->step_w - 1) / p->step_w;
    p->row = p->part * p->step_w;
    const size_t reach = (p->kernel_h - 1) * p->gap_h + 1;
    if (reach > TAPS_REACH || p->row > TAPS_REACH / reach) return 0;
    const size_t fit = TAPS_BAND / p->row;  // rows of the value in a band
    p->band = fit > reach ? conv_least(p->out_h, (fit - reach) / p->step_h + 1) : 1;
    p->band_size = (((p->band - 1) * p->step_h + reach) * p->row + 15) / 16 * 16;
    for (size_t ty = 0; ty < p->kernel_h; ty++) {
        for (size_t tx = 0; tx < c->kernel[w]; tx++) {
            const size_t x = tx * p->gap_w;
            p->offset[p->taps++] = ty * p->gap_h * p->row + x % p->step_w * p->part + x / p->step_w;
        }
    }
    if (conv_half(j)) {
        p->x_size = (p->in_h * p->in_w + 15) / 16 * 16;
        p->y_size = (c->filters * p->out_h * p->out_w + 15) / 16 * 16;
    }
    const size_t work = p->out_h * p->out_w * p->taps * c->filters;
    p->groups_each = work >= TAPS_GRAIN ? 1 : TAPS_GRAIN / work;
    return 1;
}

// One row of the value, which is NULL above and below it, as parts.
static void copy_row(const taps_plan *p, const float *x, float *dst) {
    for (size_t part = 0; part < p->step_w; part++, dst += p->part) {
        size_t begin = p->part, end = p->part;  // of what the value fills
        if (x != NULL && part < p->in_w + p->pad_w) {
            begin = part < p->pad_w ? conv_least(p->part, (p->pad_w - part + p->step_w - 1) / p->step_w) : 0;
            end = conv_least(p->part, (p->in_w + p->pad_w - part + p->step_w - 1) / p->step_w);
            if (end < begin) end = begin;
        }
        memset(dst, 0, begin * sizeof *dst);
        if (begin < end) {
            const float *const from = x + (begin * p->step_w + part - p->pad_w);
            if (p->step_w == 1) {
                memcpy(dst + begin, from, (end - begin) * sizeof *dst);
            } else {
                p->j->taps->split(from, p->step_w, end - begin, dst + begin);
            }
        }
        memset(dst + end, 0, (p->part - end) * sizeof *dst);
    }
}

// Computes y, of one group, from x; add is NULL or laid out as y.
static void taps_group(const taps_plan *p, size_t group, const float *x, const float *add, float *y, float *band) {
    const nacre_conv *const c = &p->j->c;
    const size_t out = p->out_h * p->out_w;
    const nacre_half *const half = p->j->gemm->half();
    float wide[TAPS_MOST];
    for (size_t o = 0; o < p->out_h; o += p->band) {
        const size_t rows = conv_least(p->band, p->out_h - o);
        const size_t copied = (rows - 1) * p->step_h + (p->kernel_h - 1) * p->gap_h + 1;
        for (size_t r = 0; r < copied; r++) {
            const size_t y = o * p->step_h + r;
            const int inside = y >= p->pad_h && y - p->pad_h < p->in_h && p->in_w > 0;
            copy_row(p, inside ? x + (y - p->pad_h) * p->in_w : NULL, band + r * p->row);
        }
        for (size_t f = 0; f < c->filters; f++) {
            const size_t filter = group * c->filters + f;
            const float *w = conv_at(p->j->type, p->j->w, filter * p->taps);
            if (conv_half(p->j)) {
                half->widen[p->j->type](w, wide, p->taps);
                w = wide;
            }
            const nacre_f32_finish *const finish = &p->j->finish;
            const size_t corner = f * out + o * p->out_w;
            p->j->taps->filter(band, p->step_h * p->row, p->taps, p->offset, w, p->j->bias == NULL ? 0 : p->j->bias[filter],
                               add == NULL ? NULL : add + corner, finish, y + corner, p->out_w, rows, p->out_w);
            if (finish->map != NULL) finish->map(y + corner, y + corner, rows * p->out_w, finish->params);
        }
    }
}

static size_t taps_scratch(const taps_plan *p) { return p->band_size + p->x_size + p->y_size; }

static void taps_chunk(void *job, size_t chunk, size_t thread) {
    const taps_plan *const p = job;
    const size_t planes = p->j->c.images * p->j->c.groups;
    const size_t end = conv_least(planes, (chunk + 1) * p->groups_each);
    float *const band = p->scratch + thread * taps_scratch(p);
    const nacre_f32_conv *const j = p->j;
    const size_t in = p->in_h * p->in_w, out = j->c.filters * p->out_h * p->out_w;
    for (size_t plane = chunk * p->groups_each; plane < end; plane++) {
        const void *const x = conv_at(j->type, j->x, plane * in);
        void *const y = conv_at(j->type, j->y, plane * out);
        const float *const add = j->finish.add == NULL ? NULL : j->finish.add + plane * out;
        if (conv_half(j)) {
            float *const wide_x = band + p->band_size, *const wide_y = wide_x + p->x_size;
            j->gemm->half()->widen[j->type](x, wide_x, in);
            taps_group(p, plane % j->c.groups, wide_x, add, wide_y, band);
            j->gemm->half()->narrow[j->type](wide_y, y, out);
        } else {
            taps_group(p, plane % j->c.groups, x, add, y, band);
        }
    }
}

// ---- both ----

static int is_empty(const nacre_conv *c) {
    return c->images * c->groups * c->filters == 0 || conv_count(c->out, c->axes) == 0;
}

size_t nacre_f32_conv_scratch(const nacre_f32_conv *j, size_t threads) {
    if (is_empty(&j->c)) return 0;
    taps_plan p;
    if (plan_taps(&p, j)) return threads * taps_scratch(&p);
    size_t axes[CONV_BATCH];
    const nacre_f32_gemm g = conv_product(j, axes);
    return nacre_f32_gemm_scratch(&g, threads);
}

void nacre_f32_conv_run(const nacre_f32_conv *j, nacre_pool *pool, float *scratch) {
    if (is_empty(&j->c)) return;
    taps_plan p;
    if (plan_taps(&p, j)) {
        p.scratch = scratch;
        const size_t planes = j->c.images * j->c.groups;
        nacre_parallel(pool, (planes + p.groups_each - 1) / p.groups_each, taps_chunk, &p);
        return;
    }
    size_t axes[CONV_BATCH];
    const nacre_f32_gemm g = conv_product(j, axes);
    nacre_f32_gemm_run(&g, pool, scratch);
}
