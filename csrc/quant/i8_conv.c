// Convolutions of bytes: weights times the columns of a value.
#include "conv/space.h"
#include "quant/i8_conv.h"

enum { I8_SPAN_COLUMNS = 128 };

// A convolution as a batch of products, one for each image and group.
typedef struct {
    nacre_i8_gemm g;
    const nacre_i8_conv *conv;
    int64_t axes[6];  // of the batch
} i8_conv_job;

// Reports whether the columns of a value are its planes in memory.
static int i8_conv_direct(const nacre_conv *c) {
    for (size_t d = 0; d < c->axes; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return 0;
    }
    return 1;
}

static void i8_fill_row(const conv_run *runs, size_t count, size_t step, const uint8_t *plane, uint8_t pad, size_t n,
                        uint8_t *dst) {
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

// Fills a row for each channel and tap. Runs depend on the tap only, so they are made once for all
// channels.
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

static const uint8_t *i8_conv_columns(const void *source, size_t index, size_t j0, size_t n, uint8_t *buffer,
                                      size_t *ld) {
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
        i8_fill_columns(j, x, j0 + done, nacre_min(I8_SPAN_COLUMNS, n - done), n, buffer + done);
    }
    return buffer;
}

// Rows are parts of the value's own, if columns are neighbours on the last axis and no tap is beyond
// an edge.
static int i8_conv_rows(const void *source, size_t index, size_t j0, size_t n, const uint8_t **rows) {
    const nacre_i8_conv *const j = source;
    const nacre_conv *const c = &j->c;
    const size_t last = c->out[c->axes - 1], plane = conv_count(c->in, c->axes), taps = conv_count(c->kernel, c->axes);
    if (c->stride[c->axes - 1] != 1 || j0 % last + n > last) return 0;
    const uint8_t *const x = j->x + index * c->channels * plane;
    conv_span span;
    conv_spans(c, c->out, j0, n, &span);
    size_t tap[NACRE_CONV_AXES] = {0};
    for (size_t t = 0; t < taps; t++, conv_next(tap, c->kernel, c->axes)) {
        conv_run run;
        if (!conv_clip(c, c->in, &span, tap, &run) || run.lanes != n) return 0;
        for (size_t channel = 0; channel < c->channels; channel++) {
            rows[channel * taps + t] = x + channel * plane + run.offset;
        }
    }
    return 1;
}

static size_t i8_conv_depth(const nacre_conv *c) { return c->channels * conv_count(c->kernel, c->axes); }

// Sets the product, computed in lines or by tiles. Leaves the vectors of columns as j has them.
static void i8_conv_product(i8_conv_job *job, const nacre_i8_conv *j, int lines) {
    const nacre_conv *const c = &j->c;
    nacre_i8_gemm *const g = &job->g;
    job->conv = j;
    *g = j->g;
    g->m = c->filters;
    g->n = conv_count(c->out, c->axes);
    g->k = i8_conv_depth(c);
    g->lines = lines;
    g->a.row = g->k;
    g->a.col = 1;
    g->b = (nacre_i8_operand){.is_signed = j->x_signed};
    const size_t step = g->a.packed ? nacre_i8_gemm_packed_a(g->impl, g->m, g->k) : g->m * g->k;
    job->axes[0] = (int64_t)c->images;
    job->axes[1] = (int64_t)c->groups;
    job->axes[2] = 0;
    job->axes[3] = (int64_t)step;
    job->axes[4] = job->axes[5] = 0;
    g->batch = (nacre_batch){2, job->axes};
    g->row_count = c->groups;
    g->col_count = 1;
    g->make_b = i8_conv_columns;
    g->rows_of_b = i8_conv_rows;
    g->source = j;
}

// ---- depthwise ----

enum {
    I8_DEPTHWISE_KERNEL = 256,  // largest kernel with sums below 2^24, which floats hold exactly
    I8_WRITE = 256
};

static void i8_depthwise_read(const void *source, size_t at, size_t n, float *dst) {
    const nacre_i8_conv *const j = source;
    j->g.impl->to_floats(j->x + at, j->x_signed, j->x_zero, n, dst);
}

static void i8_depthwise_weigh(const void *source, size_t filter, float *dst) {
    const nacre_i8_conv *const j = source;
    const size_t taps = conv_count(j->c.kernel, j->c.axes);
    j->g.impl->to_floats((const uint8_t *)j->g.a.data + filter * taps, j->g.a.is_signed, j->g.a_zero[filter], taps,
                         dst);
}

static void i8_depthwise_write(const void *source, size_t filter, size_t at, size_t n, float *sums) {
    const nacre_i8_conv *const j = source;
    const nacre_i8_gemm *const g = &j->g;
    const size_t size = g->type == NACRE_DTYPE_u8 || g->type == NACRE_DTYPE_i8 ? 1 : 4;
    const size_t positions = conv_count(j->c.out, j->c.axes);
    const int32_t none = 0;
    int32_t part[I8_WRITE];
    nacre_i8_finish f = {.m = 1, .sums = part, .a_sums = &none, .type = g->type, .zero = g->zero, .ldc = n};
    f.bias = g->bias == NULL ? NULL : g->bias + filter * g->bias_row;
    f.then = g->then;
    f.row = filter;
    f.row_scale = g->row_scale == NULL ? NULL : g->row_scale + filter;
    for (size_t done = 0; done < n; done += I8_WRITE) {
        const size_t column = (at + done) % positions;
        f.n = nacre_min(I8_WRITE, n - done);
        f.b_zero = g->b_zero + column;
        f.col_scale = g->col_scale == NULL ? NULL : g->col_scale + column;
        f.at = at + done;
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

static int i8_conv_is_depthwise(const nacre_conv *c) {
    return nacre_conv_is_depthwise(c) && conv_count(c->kernel, c->axes) <= I8_DEPTHWISE_KERNEL;
}

static int i8_conv_goes_depthwise(const nacre_i8_conv *j) {
    const nacre_f32_depthwise t = i8_conv_depthwise(j);
    return j->c.images > 0 && i8_conv_is_depthwise(&j->c) && j->depthwise->driver->fits(&t);
}

// ---- commands ----

static nacre_i8_conv i8_conv_of(const nacre_kernel *k, const nacre_i8_conv_words *w) {
    nacre_i8_conv j = {.c = nacre_conv_of(&w->extents), .x_signed = (int)w->x_signed};
    j.g = (nacre_i8_gemm){
        .impl = ((nacre_i8_gemm_fn *)k->fn)(), .a = {.packed = (int)w->w_packed, .is_signed = (int)w->w_signed},
        .bias_row = 1, .type = (nacre_dtype)w->y};
    if (w->depthwise != 0) j.depthwise = ((nacre_f32_depthwise_fn *)nacre_part_fn(w->depthwise))();
    return j;
}

// The part of scratch before the convolution's: numbers of filters and of positions and, if
// channels are the last axis, value and result with their channels first.
typedef struct {
    size_t filters, positions;
    quant_vectors numbers;
    float *row_add;
    uint8_t *x, *y, *add;
    size_t bytes;
} i8_conv_layout;

static i8_conv_layout i8_conv_place(const nacre_i8_conv_words *w, const nacre_conv *c, char *scratch) {
    i8_conv_layout v = {.filters = c->groups * c->filters, .positions = conv_count(c->out, c->axes)};
    const size_t count[2] = {v.filters, v.positions};
    v.numbers = quant_place_vectors(count, scratch, &v.bytes);
    v.row_add = (float *)(void *)(scratch + v.bytes);
    v.bytes += nacre_align_bytes(v.filters * sizeof(float));
    if (!w->channels_last) return v;
    v.x = (uint8_t *)scratch + v.bytes;
    v.bytes += nacre_align_bytes(c->images * c->groups * c->channels * conv_count(c->in, c->axes));
    v.y = (uint8_t *)scratch + v.bytes;
    v.bytes += nacre_align_bytes(c->images * v.filters * v.positions);
    v.add = (uint8_t *)scratch + v.bytes;
    v.bytes += nacre_align_bytes(c->images * v.filters * v.positions);
    return v;
}

static void i8_conv_put(const nacre_call *c, const i8_conv_layout *v, const i8_conv_numbers *n) {
    const nacre_i8_conv_words *const w = (const void *)c->words;
    const void *const zero = nacre_operand(c, CONV8_W_ZERO);
    const nacre_dtype code = w->w_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
    for (size_t f = 0; f < v->filters; f++) {
        v->numbers.zeros[0][f] = zero == NULL ? 0 : quant_integer(code, zero, w->w_zeros == 1 ? 0 : f);
        v->numbers.scales[0][f] = i8_conv_scale(c, w, n, f);
        v->row_add[f] = i8_conv_add(c, w, n, f);
    }
    for (size_t i = 0; i < v->positions; i++) {
        v->numbers.zeros[1][i] = n->x.zero;
        v->numbers.scales[1][i] = 1;
    }
}

// Matrices [rows,cols] of bytes to transpose, in bands of rows.
typedef struct {
    size_t rows, cols, bands;
    const uint8_t *x;
    uint8_t *y;
} i8_transpose_job;

enum { I8_BAND = 64 };

static void i8_transpose_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_transpose_job *const j = job;
    const size_t matrix = chunk / j->bands * j->rows * j->cols, first = chunk % j->bands * I8_BAND;
    const size_t end = nacre_min(j->rows, first + I8_BAND);
    for (size_t col = 0; col < j->cols; col++) {
        for (size_t row = first; row < end; row++) {
            j->y[matrix + col * j->rows + row] = j->x[matrix + row * j->cols + col];
        }
    }
}

static void i8_transpose(nacre_team *team, size_t matrices, size_t rows, size_t cols, const uint8_t *x, uint8_t *y) {
    i8_transpose_job j = {rows, cols, nacre_ceil_div(rows, I8_BAND), x, y};
    nacre_parallel(team, matrices * j.bands, i8_transpose_chunk, &j);
}

// The ways to compute a convolution: products in lines or by tiles, or filter by filter.
typedef enum { I8_CONV_LINES, I8_CONV_TILES, I8_CONV_FILTERS } i8_conv_way;

static void i8_conv_command(const nacre_call *c, i8_conv_way way) {
    const nacre_i8_conv_words *const w = (const void *)c->words;
    nacre_i8_conv j = i8_conv_of(c->kernel, w);
    const i8_conv_layout v = i8_conv_place(w, &j.c, c->scratch);
    const i8_conv_numbers n = i8_conv_numbers_of(c, w);
    uint8_t *const scratch = (uint8_t *)c->scratch + v.bytes;
    i8_conv_put(c, &v, &n);
    j.x = nacre_operand(c, CONV8_X);
    j.x_zero = n.x.zero;
    quant_set_product(&j.g, c, (quant_product_operands){.a = CONV8_W, .bias = CONV8_BIAS, .c = CONV8_Y}, &v.numbers,
                      n.y.zero);
    if (w->bias_float) j.g.bias = NULL;
    nacre_i8_then then = n.then;
    then.row_add = v.row_add;
    if (j.g.type != NACRE_DTYPE_i32) j.g.then = &then;
    if (w->channels_last) {
        i8_transpose(c->team, j.c.images, conv_count(j.c.in, j.c.axes), j.c.groups * j.c.channels, j.x, v.x);
        j.x = v.x;
        j.g.c = v.y;
        if (then.codes != NULL) {
            i8_transpose(c->team, j.c.images, v.positions, v.filters, then.codes, v.add);
            then.codes = v.add;
        }
    }
    if (way == I8_CONV_FILTERS) {
        const nacre_f32_depthwise t = i8_conv_depthwise(&j);
        j.depthwise->driver->run(&t, c->team, (float *)(void *)scratch);
    } else {
        i8_conv_job job;
        i8_conv_product(&job, &j, way == I8_CONV_LINES);
        nacre_i8_gemm_run(&job.g, c->team, scratch);
    }
    if (w->channels_last) i8_transpose(c->team, j.c.images, v.filters, v.positions, v.y, nacre_operand(c, CONV8_Y));
}

static void i8_conv_in_lines(const nacre_call *c) { i8_conv_command(c, I8_CONV_LINES); }
static void i8_conv_by_tiles(const nacre_call *c) { i8_conv_command(c, I8_CONV_TILES); }
static void i8_conv_by_filters(const nacre_call *c) { i8_conv_command(c, I8_CONV_FILTERS); }

static size_t i8_conv_products_scratch(const nacre_kernel *k, const int64_t *words, size_t threads, int lines) {
    const nacre_i8_conv_words *const w = (const void *)words;
    const nacre_i8_conv j = i8_conv_of(k, w);
    i8_conv_job job;
    i8_conv_product(&job, &j, lines);
    return i8_conv_place(w, &j.c, NULL).bytes + nacre_i8_gemm_scratch(&job.g, threads);
}

static size_t i8_conv_lines_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    return i8_conv_products_scratch(k, words, threads, 1);
}

static size_t i8_conv_tiles_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    return i8_conv_products_scratch(k, words, threads, 0);
}

static int i8_conv_lines_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_i8_conv_words *const w = (const void *)words;
    return !w->w_packed && nacre_i8_gemm_few_rows((size_t)w->extents.filters);
}

static size_t i8_conv_depthwise_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    const nacre_i8_conv_words *const w = (const void *)words;
    const nacre_i8_conv j = i8_conv_of(k, w);
    const nacre_f32_depthwise t = i8_conv_depthwise(&j);
    return i8_conv_place(w, &j.c, NULL).bytes + sizeof(float) * j.depthwise->driver->scratch(&t, threads);
}

static int i8_conv_depthwise_fits(const nacre_kernel *k, const int64_t *words) {
    const nacre_i8_conv_words *const w = (const void *)words;
    const nacre_i8_conv j = i8_conv_of(k, w);
    return !w->w_packed && w->depthwise != 0 && i8_conv_goes_depthwise(&j);
}

// Returns the bytes of packed weights.
static size_t i8_conv_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    const nacre_i8_conv j = i8_conv_of(k, (const void *)words);
    if (operand != CONV8_W) return 0;
    return j.c.groups * nacre_i8_gemm_packed_a(j.g.impl, j.c.filters, i8_conv_depth(&j.c));
}

static void i8_conv_pack(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    const nacre_i8_conv j = i8_conv_of(k, (const void *)words);
    const size_t depth = i8_conv_depth(&j.c), size = nacre_i8_gemm_packed_a(j.g.impl, j.c.filters, depth);
    for (size_t g = 0; g < j.c.groups; g++) {
        const nacre_i8_operand a = {(const uint8_t *)src + g * j.c.filters * depth, 0, j.g.a.is_signed, depth, 1};
        nacre_i8_gemm_pack_a(j.g.impl, j.c.filters, depth, &a, (uint8_t *)dst + g * size);
    }
}

const nacre_entry nacre_i8_conv_gemv_entry = {
    .words = sizeof(nacre_i8_conv_words) / 8,
    .operands = CONV8_OPERANDS,
    .run = i8_conv_in_lines,
    .fits = i8_conv_lines_fits,
    .scratch = i8_conv_lines_scratch,
};
const nacre_entry nacre_i8_conv_gemm_entry = {
    .words = sizeof(nacre_i8_conv_words) / 8,
    .operands = CONV8_OPERANDS,
    .run = i8_conv_by_tiles,
    .scratch = i8_conv_tiles_scratch,
    .packed = i8_conv_packed,
    .pack = i8_conv_pack,
};
const nacre_entry nacre_i8_conv_depthwise_entry = {
    .words = sizeof(nacre_i8_conv_words) / 8,
    .operands = CONV8_OPERANDS,
    .run = i8_conv_by_filters,
    .fits = i8_conv_depthwise_fits,
    .scratch = i8_conv_depthwise_scratch,
};
