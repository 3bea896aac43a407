// Convolutions of bytes: weights times the columns of a value.
#include <string.h>

#include "conv/space.h"
#include "quant/quant.h"

enum { I8_SPAN_COLUMNS = 128 };

// A convolution as a batch of products, one for each image and group.
typedef struct {
    nacre_i8_gemm g;
    const nacre_i8_conv *conv;
    size_t axes[6];  // of the batch
} i8_conv_job;

// Whether the columns of a value are its planes as they lie.
static int i8_conv_direct(const nacre_conv *c) {
    for (size_t d = 0; d < c->axes; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return 0;
    }
    return 1;
}

static void i8_fill_row(const conv_run *runs, size_t count, size_t step, const uint8_t *plane, uint8_t pad, size_t n, uint8_t *dst) {
    memset(dst, pad, n);
    for (size_t r = 0; r < count; r++) {
        uint8_t *const to = dst + runs[r].lane;
        const uint8_t *const from = plane + runs[r].offset;
        if (step == 1) {
            memcpy(to, from, runs[r].lanes);
        } else {
            for (size_t l = 0; l < runs[r].lanes; l++) to[l] = from[l * step];
        }
    }
}

// A row for each channel and tap. Runs depend on the tap only, so they are made
// once for all channels.
static void i8_fill_columns(const nacre_i8_conv *j, const uint8_t *x, size_t j0, size_t n, size_t ld, uint8_t *dst) {
    const nacre_conv *const c = &j->c;
    conv_span spans[I8_SPAN_COLUMNS];
    conv_run runs[I8_SPAN_COLUMNS];
    const size_t span_count = conv_spans(c, c->out, j0, n, spans);
    const size_t plane = conv_count(c->in, c->axes), taps = conv_count(c->kernel, c->axes);
    size_t tap[NACRE_CONV_AXES] = {0};
    for (size_t t = 0; t < taps; t++, conv_next(tap, c->kernel, c->axes)) {
        size_t count = 0;
        for (size_t s = 0; s < span_count; s++) count += (size_t)conv_clip(c, c->in, &spans[s], tap, &runs[count]);
        for (size_t channel = 0; channel < c->channels; channel++) {
            i8_fill_row(runs, count, c->stride[c->axes - 1], x + channel * plane, (uint8_t)j->x_zero, n,
                        dst + (channel * taps + t) * ld);
        }
    }
}

static const uint8_t *i8_conv_columns(const void *source, size_t index, size_t j0, size_t n, uint8_t *buffer, size_t *ld) {
    const nacre_i8_conv *const j = source;
    const nacre_conv *const c = &j->c;
    const size_t plane = conv_count(c->in, c->axes);
    const uint8_t *const x = j->x + index * c->channels * plane;
    if (i8_conv_direct(c)) {
        *ld = plane;
        return x + j0;
    }
    *ld = n;
    for (size_t done = 0; done < n; done += I8_SPAN_COLUMNS) {
        i8_fill_columns(j, x, j0 + done, conv_least(I8_SPAN_COLUMNS, n - done), n, buffer + done);
    }
    return buffer;
}

static size_t i8_conv_depth(const nacre_conv *c) { return c->channels * conv_count(c->kernel, c->axes); }

// The vectors of columns are left as j has them.
static void i8_conv_product(i8_conv_job *job, const nacre_i8_conv *j) {
    const nacre_conv *const c = &j->c;
    nacre_i8_gemm *const g = &job->g;
    job->conv = j;
    *g = j->g;
    g->m = c->filters;
    g->n = conv_count(c->out, c->axes);
    g->k = i8_conv_depth(c);
    g->a.row = g->k;
    g->a.col = 1;
    g->b = (nacre_i8_operand){.is_signed = j->x_signed};
    const size_t step = g->a.packed ? nacre_i8_gemm_packed_a(g->impl, g->m, g->k) : g->m * g->k;
    job->axes[0] = c->images;
    job->axes[1] = c->groups;
    job->axes[2] = 0;
    job->axes[3] = step;
    job->axes[4] = job->axes[5] = 0;
    g->batch = (nacre_batch){2, job->axes};
    g->row_count = c->groups;
    g->col_count = 1;
    g->make_b = i8_conv_columns;
    g->source = j;
}

// ---- depthwise ----

enum {
    I8_TAPS = 256,  // whose sums are below 2^24, so that floats hold them
    I8_WRITE = 256
};

static void i8_depthwise_read(const void *source, size_t at, size_t n, float *dst) {
    const nacre_i8_conv *const j = source;
    j->g.impl->to_floats(j->x + at, j->x_signed, j->x_zero, n, dst);
}

static void i8_depthwise_weigh(const void *source, size_t filter, float *dst) {
    const nacre_i8_conv *const j = source;
    const size_t taps = conv_count(j->c.kernel, j->c.axes);
    j->g.impl->to_floats((const uint8_t *)j->g.a.data + filter * taps, j->g.a.is_signed, j->g.a_zero[filter], taps, dst);
}

static void i8_depthwise_write(const void *source, size_t filter, size_t at, size_t n, float *sums) {
    const nacre_i8_conv *const j = source;
    const nacre_i8_gemm *const g = &j->g;
    const size_t size = g->type == NACRE_QUANT_U8 || g->type == NACRE_QUANT_I8 ? 1 : 4;
    const size_t positions = conv_count(j->c.out, j->c.axes);
    const int32_t none = 0;
    int32_t part[I8_WRITE];
    nacre_i8_finish f = {.m = 1, .sums = part, .a_sums = &none, .type = g->type, .zero = g->zero, .ldc = n};
    f.bias = g->bias == NULL ? NULL : g->bias + filter * g->bias_row;
    f.row_scale = g->row_scale == NULL ? NULL : g->row_scale + filter;
    for (size_t done = 0; done < n; done += I8_WRITE) {
        const size_t column = (at + done) % positions;
        f.n = conv_least(I8_WRITE, n - done);
        f.b_zero = g->b_zero + column;
        f.col_scale = g->col_scale == NULL ? NULL : g->col_scale + column;
        f.c = (uint8_t *)g->c + (at + done) * size;
        g->impl->to_integers(sums + done, f.n, part);
        g->impl->finish(&f);
    }
}

static nacre_f32_depthwise i8_conv_depthwise(const nacre_i8_conv *j) {
    nacre_f32_depthwise t = {.c = j->c, .impl = j->depthwise, .source = j};
    t.read = i8_depthwise_read;
    t.weigh = i8_depthwise_weigh;
    t.write = i8_depthwise_write;
    return t;
}

static int i8_conv_is_depthwise(const nacre_conv *c) { return nacre_conv_is_depthwise(c) && conv_count(c->kernel, c->axes) <= I8_TAPS; }

int nacre_i8_conv_unpacked(const nacre_conv *c) { return nacre_i8_gemm_by_lines(c->filters) || i8_conv_is_depthwise(c); }

// ---- both ----

size_t nacre_i8_conv_packed(const nacre_conv *c, const nacre_i8_gemm_impl *impl) {
    return c->groups * nacre_i8_gemm_packed_a(impl, c->filters, i8_conv_depth(c));
}

void nacre_i8_conv_pack(const nacre_conv *c, const nacre_i8_gemm_impl *impl, int is_signed, const uint8_t *w, uint8_t *dst) {
    const size_t depth = i8_conv_depth(c), size = nacre_i8_gemm_packed_a(impl, c->filters, depth);
    for (size_t g = 0; g < c->groups; g++) {
        const nacre_i8_operand a = {w + g * c->filters * depth, 0, is_signed, depth, 1};
        nacre_i8_gemm_pack_a(impl, c->filters, depth, &a, dst + g * size);
    }
}

size_t nacre_i8_conv_scratch(const nacre_i8_conv *j, size_t threads) {
    const nacre_f32_depthwise t = i8_conv_depthwise(j);
    if (!j->g.a.packed && i8_conv_is_depthwise(&j->c) && j->depthwise->driver->fits(&t)) return sizeof(float) * j->depthwise->driver->scratch(&t, threads);
    i8_conv_job job;
    i8_conv_product(&job, j);
    return nacre_i8_gemm_scratch(&job.g, threads);
}

void nacre_i8_conv_run(const nacre_i8_conv *j, nacre_team *team, uint8_t *scratch) {
    const nacre_f32_depthwise t = i8_conv_depthwise(j);
    if (!j->g.a.packed && i8_conv_is_depthwise(&j->c) && j->depthwise->driver->fits(&t)) {
        j->depthwise->driver->run(&t, team, (float *)(void *)scratch);
        return;
    }
    i8_conv_job job;
    i8_conv_product(&job, j);
    nacre_i8_gemm_run(&job.g, team, scratch);
}
