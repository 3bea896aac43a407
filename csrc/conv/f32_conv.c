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

static void taps_read(const void *source, size_t at, size_t n, float *dst) {
    const nacre_f32_conv *const j = source;
    j->gemm->half()->widen[j->type](conv_at(j->type, j->x, at), dst, n);
}

static void taps_weigh(const void *source, size_t filter, float *dst) {
    const nacre_f32_conv *const j = source;
    const size_t taps = conv_count(j->c.kernel, j->c.axes);
    j->gemm->half()->widen[j->type](conv_at(j->type, j->w, filter * taps), dst, taps);
}

static void taps_write(const void *source, size_t filter, size_t at, size_t n, const float *sums) {
    (void)filter;
    const nacre_f32_conv *const j = source;
    j->gemm->half()->narrow[j->type](sums, conv_at(j->type, j->y, at), n);
}

static nacre_taps_conv conv_taps(const nacre_f32_conv *j) {
    nacre_taps_conv t = {.c = j->c, .impl = j->taps, .bias = j->bias, .finish = j->finish};
    if (conv_half(j)) {
        t.source = j;
        t.read = taps_read;
        t.weigh = taps_weigh;
        t.write = taps_write;
    } else {
        t.x = j->x;
        t.w = j->w;
        t.y = j->y;
    }
    return t;
}

// ---- both ----

static int is_empty(const nacre_conv *c) {
    return c->images * c->groups * c->filters == 0 || conv_count(c->out, c->axes) == 0;
}

size_t nacre_f32_conv_scratch(const nacre_f32_conv *j, size_t threads) {
    if (is_empty(&j->c)) return 0;
    const nacre_taps_conv t = conv_taps(j);
    if (!j->packed && nacre_taps_suit(&t)) return nacre_taps_scratch(&t, threads);
    size_t axes[CONV_BATCH];
    const nacre_f32_gemm g = conv_product(j, axes);
    return nacre_f32_gemm_scratch(&g, threads);
}

void nacre_f32_conv_run(const nacre_f32_conv *j, nacre_team *team, float *scratch) {
    if (is_empty(&j->c)) return;
    const nacre_taps_conv t = conv_taps(j);
    if (!j->packed && nacre_taps_suit(&t)) {
        nacre_taps_run(&t, team, scratch);
        return;
    }
    size_t axes[CONV_BATCH];
    const nacre_f32_gemm g = conv_product(j, axes);
    nacre_f32_gemm_run(&g, team, scratch);
}
