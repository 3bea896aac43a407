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

enum {
    TAPS_BAND = 4096,   // elements of the bands made at a time, where a row of the result does not take more
    TAPS_MOST = 1024,   // taps of a kernel
    TAPS_GRAIN = 65536, // multiply-adds of one chunk of work
    TAPS_REACH = 1 << 22 // elements of the least band that is worth copying
};

typedef struct {
    const nacre_f32_conv *j;
    nacre_f32_band form;
    size_t in_h, out_h, out_w;
    size_t kernel_h, kernel_w, step_h, gap_h, pad_h;
    size_t row;             // elements of a row of a band
    size_t rows, bands;     // rows of the result from one band; bands of a plane
    size_t bands_each;      // of one chunk
    size_t bands_ahead;     // made before the first of them is read: what was just written is slow to read
    size_t band_size;       // elements of a band
    size_t x_size, y_size;  // of what it is made of and of its results as floats, if they are 16-bit floats
    size_t offset[TAPS_MOST];
    float *scratch;
} taps_plan;

int nacre_f32_conv_by_taps(const nacre_conv *c) {
    return c->channels == 1 && c->axes <= 2 && conv_count(c->kernel, c->axes) <= TAPS_MOST;
}

static size_t taps_reach(const taps_plan *p, size_t rows) { return (rows - 1) * p->step_h + (p->kernel_h - 1) * p->gap_h + 1; }

// Returns whether taps are the way: strides and gaps may be so wide that a band
// would be mostly what no tap meets.
static int plan_taps(taps_plan *p, const nacre_f32_conv *j) {
    const nacre_conv *const c = &j->c;
    if (j->packed || !nacre_f32_conv_by_taps(c)) return 0;
    const size_t w = c->axes - 1;
    const int flat = c->axes == 1;
    *p = (taps_plan){.j = j, .in_h = flat ? 1 : c->in[0], .out_h = flat ? 1 : c->out[0], .out_w = c->out[w]};
    p->kernel_h = flat ? 1 : c->kernel[0];
    p->kernel_w = c->kernel[w];
    p->step_h = flat ? 1 : c->stride[0];
    p->gap_h = flat ? 1 : c->dilation[0];
    p->pad_h = flat ? 0 : c->pad[0];
    const size_t parts = c->stride[w], gap_w = c->dilation[w];
    const size_t columns = (p->out_w - 1) * parts + (p->kernel_w - 1) * gap_w + 1;
    nacre_f32_band *const b = &p->form;
    *b = (nacre_f32_band){c->in[w], c->pad[w], parts, 0, 0};
    const size_t before = conv_part_pad(b, 0), shared = (b->in + parts - 1) / parts + before;
    const size_t span = (columns - 1) / parts + 1, behind = conv_part_pad(b, parts - 1);
    b->part = ((shared + behind > span ? shared : span - behind) + 15) / 16 * 16;
    b->lead = (before + 15) / 16 * 16;
    p->row = b->part * parts;
    const size_t reach = taps_reach(p, 1);
    if (reach > TAPS_REACH || p->row > TAPS_REACH / reach) return 0;
    const size_t fit = TAPS_BAND / p->row;  // rows of the value in a band
    p->rows = fit > reach ? conv_least(p->out_h, (fit - reach) / p->step_h + 1) : 1;
    p->bands = (p->out_h + p->rows - 1) / p->rows;
    p->rows = (p->out_h + p->bands - 1) / p->bands;
    p->bands = (p->out_h + p->rows - 1) / p->rows;
    p->band_size = b->lead + taps_reach(p, p->rows) * p->row + NACRE_TAPS_SLACK;
    for (size_t tx = 0; tx < p->kernel_w; tx++) {
        const size_t x = tx * gap_w;
        p->offset[tx] = b->lead + x % parts * b->part + x / parts - conv_part_pad(b, x % parts);
    }
    if (conv_half(j)) {
        p->x_size = (conv_least(p->in_h, taps_reach(p, p->rows)) * p->form.in + 15) / 16 * 16;
        p->y_size = (p->rows * p->out_w + 15) / 16 * 16;
    }
    const size_t work = p->rows * p->out_w * p->kernel_h * p->kernel_w * c->filters;
    p->bands_each = work >= TAPS_GRAIN ? 1 : TAPS_GRAIN / work;
    p->bands_ahead = p->band_size >= TAPS_BAND ? 1 : conv_least(p->bands_each, TAPS_BAND / p->band_size);
    return 1;
}

// Makes the band for rows o and on of the result of a plane of the value.
static void fill_band(const taps_plan *p, const void *x, size_t o, float *band, float *wide) {
    const size_t count = taps_reach(p, conv_least(p->rows, p->out_h - o)), first = o * p->step_h, stop = p->in_h + p->pad_h;
    const size_t end = first < stop ? conv_least(count, stop - first) : 0;
    const size_t begin = first < p->pad_h ? conv_least(end, p->pad_h - first) : 0;
    const void *from = begin == end ? NULL : conv_at(p->j->type, x, (first + begin - p->pad_h) * p->form.in);
    if (conv_half(p->j) && begin < end) {
        p->j->gemm->half()->widen[p->j->type](from, wide, (end - begin) * p->form.in);
        from = wide;
    }
    p->j->taps->fill(&p->form, from, begin, end - begin, count - end, band);
}

// Computes the rows of the result that belong to a band.
static void filter_band(const taps_plan *p, size_t plane, size_t o, const float *band, float *wide_y) {
    const nacre_f32_conv *const j = p->j;
    const nacre_conv *const c = &j->c;
    const nacre_half *const half = j->gemm->half();
    const size_t rows = conv_least(p->rows, p->out_h - o), taps = p->kernel_h * p->kernel_w, n = rows * p->out_w;
    float wide_w[TAPS_MOST];
    nacre_f32_taps t = {.src = band, .kernel_h = p->kernel_h, .kernel_w = p->kernel_w, .offset = p->offset, .finish = &j->finish};
    t.step = p->step_h * p->row;
    t.gap = p->gap_h * p->row;
    t.ldc = t.n = p->out_w;
    t.rows = rows;
    for (size_t f = 0; f < c->filters; f++) {
        const size_t filter = plane % c->groups * c->filters + f, corner = ((plane * c->filters + f) * p->out_h + o) * p->out_w;
        void *const y = conv_at(j->type, j->y, corner);
        t.w = conv_at(j->type, j->w, filter * taps);
        if (conv_half(j)) {
            half->widen[j->type](t.w, wide_w, taps);
            t.w = wide_w;
        }
        t.bias = j->bias == NULL ? 0 : j->bias[filter];
        t.add = j->finish.add == NULL ? NULL : j->finish.add + corner;
        t.out = conv_half(j) ? wide_y : y;
        j->taps->filter(&t);
        if (j->finish.map != NULL) j->finish.map(t.out, t.out, n, j->finish.params);
        if (conv_half(j)) half->narrow[j->type](wide_y, y, n);
    }
}

static void next_band(const taps_plan *p, size_t *plane, size_t *o) {
    *o += p->rows;
    if (*o < p->out_h) return;
    *o = 0;
    ++*plane;
}

static size_t taps_scratch(const taps_plan *p) { return p->bands_ahead * p->band_size + p->x_size + p->y_size; }

static void taps_chunk(void *job, size_t chunk, size_t thread) {
    const taps_plan *const p = job;
    const nacre_f32_conv *const j = p->j;
    float *const bands = p->scratch + thread * taps_scratch(p), *const wide_x = bands + p->bands_ahead * p->band_size;
    const size_t stop = conv_least(j->c.images * j->c.groups * p->bands, (chunk + 1) * p->bands_each);
    for (size_t first = chunk * p->bands_each; first < stop; first += p->bands_ahead) {
        const size_t end = conv_least(stop, first + p->bands_ahead);
        float *band = bands;
        for (size_t i = first, plane = i / p->bands, o = i % p->bands * p->rows; i < end; i++, band += p->band_size) {
            fill_band(p, conv_at(j->type, j->x, plane * p->in_h * p->form.in), o, band, wide_x);
            next_band(p, &plane, &o);
        }
        band = bands;
        for (size_t i = first, plane = i / p->bands, o = i % p->bands * p->rows; i < end; i++, band += p->band_size) {
            filter_band(p, plane, o, band, wide_x + p->x_size);
            next_band(p, &plane, &o);
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
        const size_t bands = j->c.images * j->c.groups * p.bands;
        nacre_parallel(pool, (bands + p.bands_each - 1) / p.bands_each, taps_chunk, &p);
        return;
    }
    size_t axes[CONV_BATCH];
    const nacre_f32_gemm g = conv_product(j, axes);
    nacre_f32_gemm_run(&g, pool, scratch);
}
