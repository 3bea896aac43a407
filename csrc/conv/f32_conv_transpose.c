// Driver of f32 transposed convolutions.
//
// A chunk of work is a few filters of one image. Blocks of positions of the value
// are multiplied with their weights, one row for each filter and tap, and each
// row is then added to the result where its tap falls. Blocks are the same
// whatever the threads, and no two chunks write to one place.
#include <string.h>

#include "conv/conv.h"
#include "conv/space.h"

enum {
    SPREAD_ROWS = 112,  // of a product, about
    SPREAD_CUT = 8,     // chunks that the filters of a group make, if there are enough
    SPREAD_SPAN = 256   // positions of a block
};

typedef struct {
    const nacre_f32_conv *j;
    size_t in, out, taps;  // elements of a plane of the value, of the result, of the kernel
    size_t each, blocks;   // filters of one chunk, and chunks of a group
    size_t a_size;         // of one chunk's packed weights
    size_t per_thread, gemm_scratch;
    float *scratch;
} spread_plan;

static size_t spread_filters(const nacre_conv *c, size_t taps) {
    const size_t by_rows = SPREAD_ROWS / taps > 1 ? SPREAD_ROWS / taps : 1;
    return conv_least(by_rows, (c->filters + SPREAD_CUT - 1) / SPREAD_CUT);
}

static nacre_f32_gemm spread_product(const spread_plan *p, size_t filters, size_t columns) {
    const nacre_f32_conv *const j = p->j;
    nacre_f32_gemm g = {.impl = j->gemm, .m = filters * p->taps, .n = columns, .k = j->c.channels, .alpha = 1, .row_count = 1};
    g.a = (nacre_f32_operand){NULL, j->packed, NACRE_FLOAT32, 1, j->c.filters * p->taps};
    g.b = (nacre_f32_operand){NULL, 0, NACRE_FLOAT32, p->in, 1};
    g.ldc = columns;
    return g;
}

static spread_plan plan_spread(const nacre_f32_conv *j) {
    const nacre_conv *const c = &j->c;
    spread_plan p = {.j = j, .in = conv_count(c->in, c->axes), .out = conv_count(c->out, c->axes), .taps = conv_count(c->kernel, c->axes)};
    p.each = spread_filters(c, p.taps);
    p.blocks = (c->filters + p.each - 1) / p.each;
    p.a_size = nacre_f32_gemm_packed_a(j->gemm, p.each * p.taps, c->channels);
    const size_t columns = conv_least(p.in, SPREAD_SPAN);
    // The last block of positions and the last chunk of filters may be smaller,
    // and a smaller product may take another way.
    const size_t n[2] = {columns, p.in % SPREAD_SPAN}, f[2] = {p.each, c->filters % p.each};
    for (int a = 0; a < 2; a++) {
        for (int b = 0; b < 2; b++) {
            const nacre_f32_gemm g = spread_product(&p, f[a], n[b]);
            const size_t need = nacre_f32_gemm_scratch(&g, 1);
            if (need > p.gemm_scratch) p.gemm_scratch = need;
        }
    }
    p.gemm_scratch = (p.gemm_scratch + 15) / 16 * 16;
    p.per_thread = p.gemm_scratch + (p.each * p.taps * columns + 15) / 16 * 16;
    return p;
}

static int spread_is_empty(const nacre_conv *c) {
    return c->images * c->groups * c->filters == 0 || conv_count(c->out, c->axes) == 0;
}

size_t nacre_f32_conv_transpose_packed(const nacre_conv *c, const nacre_f32_gemm_impl *impl) {
    const size_t taps = conv_count(c->kernel, c->axes), each = spread_filters(c, taps);
    return c->filters == 0 ? 0 : c->groups * ((c->filters + each - 1) / each) * nacre_f32_gemm_packed_a(impl, each * taps, c->channels);
}

void nacre_f32_conv_transpose_pack(const nacre_conv *c, const nacre_f32_gemm_impl *impl, const float *w, float *dst) {
    if (c->filters == 0) return;
    const size_t taps = conv_count(c->kernel, c->axes), each = spread_filters(c, taps);
    const size_t size = nacre_f32_gemm_packed_a(impl, each * taps, c->channels);
    for (size_t g = 0; g < c->groups; g++) {
        for (size_t f = 0; f < c->filters; f += each, dst += size) {
            const nacre_f32_operand a = {w + (g * c->channels * c->filters + f) * taps, 0, NACRE_FLOAT32, 1, c->filters * taps};
            nacre_f32_gemm_pack_a(impl, conv_least(each, c->filters - f) * taps, c->channels, &a, dst);
        }
    }
}

// Adds the rows of one filter's taps, for positions j0..j0+n-1, to its plane.
static void spread_rows(const spread_plan *p, const float *rows, size_t j0, size_t n, float *y) {
    const nacre_conv *const c = &p->j->c;
    const size_t step = c->stride[c->axes - 1];
    conv_span spans[SPREAD_SPAN];
    const size_t count = conv_spans(c, c->in, j0, n, spans);
    size_t tap[NACRE_CONV_AXES] = {0};
    for (size_t t = 0; t < p->taps; t++, rows += n, conv_next(tap, c->kernel, c->axes)) {
        for (size_t s = 0; s < count; s++) {
            conv_run run;
            if (!conv_clip(c, c->out, &spans[s], tap, &run)) continue;
            float *const to = y + run.offset;
            const float *const from = rows + run.lane;
            if (step == 1) {
                for (size_t l = 0; l < run.lanes; l++) to[l] += from[l];
            } else {
                for (size_t l = 0; l < run.lanes; l++) to[l * step] += from[l];
            }
        }
    }
}

static void spread_chunk(void *job, size_t chunk, size_t thread) {
    const spread_plan *const p = job;
    const nacre_conv *const c = &p->j->c;
    const size_t block = chunk % p->blocks, group = chunk / p->blocks % c->groups, image = chunk / p->blocks / c->groups;
    const size_t first = block * p->each, filters = conv_least(p->each, c->filters - first);
    float *const scratch = p->scratch + thread * p->per_thread, *const rows = scratch + p->gemm_scratch;
    const float *const x = (const float *)p->j->x + (image * c->groups + group) * c->channels * p->in;
    const float *const w = p->j->packed ? (const float *)p->j->w + (group * p->blocks + block) * p->a_size
                                        : (const float *)p->j->w + (group * c->channels * c->filters + first) * p->taps;
    float *const y = (float *)p->j->y + ((image * c->groups + group) * c->filters + first) * p->out;
    for (size_t f = 0; f < filters; f++) {
        const float bias = p->j->bias == NULL ? 0 : p->j->bias[group * c->filters + first + f];
        for (size_t o = 0; o < p->out; o++) y[f * p->out + o] = bias;
    }
    for (size_t j0 = 0; j0 < p->in; j0 += SPREAD_SPAN) {
        const size_t n = conv_least(SPREAD_SPAN, p->in - j0);
        nacre_f32_gemm g = spread_product(p, filters, n);
        g.a.data = w;
        g.b.data = x + j0;
        g.c = rows;
        nacre_f32_gemm_run(&g, NULL, scratch);
        for (size_t f = 0; f < filters; f++) spread_rows(p, rows + f * p->taps * n, j0, n, y + f * p->out);
    }
}

size_t nacre_f32_conv_transpose_scratch(const nacre_f32_conv *j, size_t threads) {
    return spread_is_empty(&j->c) ? 0 : threads * plan_spread(j).per_thread;
}

void nacre_f32_conv_transpose_run(const nacre_f32_conv *j, nacre_team *team, float *scratch) {
    if (spread_is_empty(&j->c)) return;
    spread_plan p = plan_spread(j);
    p.scratch = scratch;
    nacre_parallel(team, j->c.images * j->c.groups * p.blocks, spread_chunk, &p);
}
