// Command f32_conv_transpose.
//
// A chunk of work is a few filters of one image. Blocks of positions of the value are multiplied by
// their weights, with one row for each filter and position of the kernel. Each row is then added to
// its places in the result. Blocks are the same for any number of threads, and no two chunks write
// to one place.
#include "conv/command.h"
#include "core/simd.h"

enum {
    TRANSPOSE_ROWS = 112,  // of a product, about
    TRANSPOSE_CUT = 8      // chunks of the filters of a group, if there are enough
};

typedef struct {
    nacre_conv c;
    const nacre_f32_gemm_impl *gemm;
    nacre_f32_col2im_fn *col2im;
    nacre_dtype type;
    nacre_f32_finish finish;
    int packed;
    size_t in, out, taps;  // elements of a plane of the value, of the result, of the kernel
    size_t each, blocks;   // filters of one chunk, and chunks of a group
    size_t a_size;         // of one chunk's packed weights
    size_t per_thread, gemm_scratch, rows_size;
    const void *x, *w, *add;
    const float *bias;
    void *y;
    float *scratch;
    nacre_team *team;
} transpose_plan;

static size_t chunk_filters(const nacre_conv *c, size_t taps) {
    const size_t by_rows = TRANSPOSE_ROWS / taps > 1 ? TRANSPOSE_ROWS / taps : 1;
    return nacre_min(by_rows, nacre_ceil_div(c->filters, TRANSPOSE_CUT));
}

static nacre_f32_gemm chunk_product(const transpose_plan *p, size_t filters, size_t columns) {
    nacre_f32_gemm g = {.impl = p->gemm, .m = filters * p->taps, .n = columns, .k = p->c.channels, .alpha = 1,
                        .row_count = 1};
    g.a = (nacre_f32_operand){NULL, p->packed, p->type, 1, p->c.filters * p->taps};
    g.b = (nacre_f32_operand){NULL, 0, p->type, p->in, 1};
    g.c_type = NACRE_DTYPE_f32;
    g.ldc = columns;
    return g;
}

// Sets p to the plan of a command with a result that is not empty, without its operands.
static void make_plan(transpose_plan *p, const nacre_conv_words *w) {
    *p = (transpose_plan){.c = nacre_conv_of(&w->extents), .gemm = nacre_f32_gemm_part(w->gemm),
                          .type = (nacre_dtype)w->type, .finish = conv_finish(w), .packed = w->w_packed != 0};
    const nacre_conv *const c = &p->c;
    p->in = conv_count(c->in, c->axes);
    p->out = conv_count(c->out, c->axes);
    p->taps = conv_count(c->kernel, c->axes);
    p->each = chunk_filters(c, p->taps);
    p->blocks = nacre_ceil_div(c->filters, p->each);
    p->a_size = p->gemm->driver->packed_a(p->gemm, p->each * p->taps, c->channels);
    const size_t columns = nacre_min(p->in, NACRE_COL2IM_SPAN);
    // The last block of positions and the last chunk of filters may be smaller. A single column
    // may need more scratch than several.
    const size_t n[2] = {columns, p->in % NACRE_COL2IM_SPAN}, f[2] = {p->each, c->filters % p->each};
    for (int a = 0; a < 2; a++) {
        for (int b = 0; b < 2; b++) {
            const nacre_f32_gemm g = chunk_product(p, f[a], n[b]);
            p->gemm_scratch = nacre_max(p->gemm_scratch, p->gemm->path->scratch(&g, 1));
        }
    }
    p->gemm_scratch = nacre_align_floats(p->gemm_scratch);
    p->rows_size = nacre_align_floats(p->each * p->taps * columns);
    p->per_thread = p->gemm_scratch + p->rows_size + (p->type == NACRE_DTYPE_f32 ? 0
                                                      : nacre_align_floats(p->each * p->out));
}

void nacre_f32_col2im__scalar(const nacre_conv *c, const float *rows, size_t j0, size_t n, float *y) {
    const size_t step = c->stride[c->axes - 1], taps = conv_count(c->kernel, c->axes);
    conv_span spans[NACRE_COL2IM_SPAN];
    const size_t count = conv_spans(c, c->in, j0, n, spans);
    size_t tap[NACRE_CONV_AXES] = {0};
    for (size_t t = 0; t < taps; t++, conv_next(tap, c->kernel, c->axes), rows += n) {
        for (size_t s = 0; s < count; s++) {
            conv_run run;
            if (!conv_clip(c, c->out, &spans[s], tap, &run)) continue;
            float *const to = y + run.offset;
            const float *const from = rows + run.lane;
            if (step == 1) {
                NACRE_SIMD for (size_t l = 0; l < run.lanes; l++) to[l] += from[l];
            } else {
                for (size_t l = 0; l < run.lanes; l++) to[l * step] += from[l];
            }
        }
    }
}

static void transpose_chunk(void *job, size_t chunk, size_t thread) {
    const transpose_plan *const p = job;
    const nacre_conv *const c = &p->c;
    const size_t block = chunk % p->blocks, group = chunk / p->blocks % c->groups,
        image = chunk / p->blocks / c->groups;
    const size_t first = block * p->each, filters = nacre_min(p->each, c->filters - first);
    const size_t at = ((image * c->groups + group) * c->filters + first) * p->out;
    float *const scratch = p->scratch + thread * p->per_thread, *const rows = scratch + p->gemm_scratch;
    float *const y = p->type == NACRE_DTYPE_f32 ? (float *)p->y + at : rows + p->rows_size;
    for (size_t f = 0; f < filters; f++) {
        const float bias = p->bias == NULL ? 0 : p->bias[group * c->filters + first + f];
        NACRE_SIMD for (size_t o = 0; o < p->out; o++) y[f * p->out + o] = bias;
    }
    const size_t w = p->packed ? (group * p->blocks + block) * p->a_size
        : (group * c->channels * c->filters + first) * p->taps;
    for (size_t j0 = 0; j0 < p->in && !nacre_stopped(p->team); j0 += NACRE_COL2IM_SPAN) {
        const size_t n = nacre_min(NACRE_COL2IM_SPAN, p->in - j0);
        nacre_f32_gemm g = chunk_product(p, filters, n);
        g.a.data = conv_at(p->type, p->w, w);
        g.b.data = conv_at(p->type, p->x, (image * c->groups + group) * c->channels * p->in + j0);
        g.c = rows;
        p->gemm->path->run(&g, NULL, scratch);
        for (size_t f = 0; f < filters; f++) p->col2im(c, rows + f * p->taps * n, j0, n, y + f * p->out);
    }
    nacre_conv_store(p->gemm->half(), p->type, &p->finish, p->add, at, filters * p->out, y, p->y);
}

static size_t transpose_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    transpose_plan p;
    make_plan(&p, (const void *)words);
    const size_t bias = p.type == NACRE_DTYPE_f32 ? 0 : nacre_align_floats(p.c.groups * p.c.filters);
    return (bias + threads * p.per_thread) * sizeof(float);
}

static void transpose_command(const nacre_call *c) {
    transpose_plan p;
    make_plan(&p, (const void *)c->words);
    p.col2im = (nacre_f32_col2im_fn *)c->kernel->fn;
    p.team = c->team;
    p.scratch = c->scratch;
    p.x = nacre_operand(c, CONV_X);
    p.w = nacre_operand(c, CONV_W);
    p.bias = nacre_conv_floats(c->team, p.gemm->half(), p.type, p.c.groups * p.c.filters, nacre_operand(c, CONV_BIAS),
                               &p.scratch);
    p.add = nacre_operand(c, CONV_ADD);
    p.y = nacre_operand(c, CONV_Y);
    nacre_parallel(c->team, p.c.images * p.c.groups * p.blocks, transpose_chunk, &p);
}

// Reports whether the part takes the largest products.
static int transpose_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_conv_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->extents);
    if (conv_is_empty(&c)) return 0;
    transpose_plan p;
    make_plan(&p, w);
    const nacre_f32_gemm g = chunk_product(&p, p.each, nacre_min(p.in, NACRE_COL2IM_SPAN));
    return p.gemm->path->fits(&g);
}

static size_t transpose_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    (void)kernel;
    if (operand != CONV_W) return 0;
    transpose_plan p;
    make_plan(&p, (const void *)words);
    return p.c.groups * p.blocks * p.a_size * nacre_float_size(p.type);
}

static void transpose_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src,
                           void *dst) {
    (void)kernel;
    (void)operand;
    transpose_plan p;
    make_plan(&p, (const void *)words);
    for (size_t g = 0; g < p.c.groups; g++) {
        for (size_t b = 0; b < p.blocks; b++) {
            const size_t first = b * p.each, filters = nacre_min(p.each, p.c.filters - first);
            const void *const w = conv_at(p.type, src, (g * p.c.channels * p.c.filters + first) * p.taps);
            const nacre_f32_operand a = {w, 0, p.type, 1, p.c.filters * p.taps};
            p.gemm->driver->pack_a(p.gemm, filters * p.taps, p.c.channels, &a,
                                   conv_at(p.type, dst, (g * p.blocks + b) * p.a_size));
        }
    }
}

const nacre_entry nacre_f32_conv_transpose_entry = {
    .words = sizeof(nacre_conv_words) / 8, .operands = CONV_OPERANDS, .run = transpose_command, .fits = transpose_fits,
    .scratch = transpose_scratch, .packed = transpose_packed, .pack = transpose_pack,
};
