// Command f32_conv_gemm: weights times columns. If a 1x1 kernel skips no positions, the columns are
// the value itself. Otherwise they are made where the product packs them, never as a whole.
#include "conv/command.h"

enum { GEMM_BATCH = 6 };  // extents and strides of the batch axes: images, groups

typedef struct {
    nacre_conv c;
    const nacre_f32_gemm_impl *gemm;
    nacre_f32_im2col_fn *im2col;
    nacre_dtype type;
    const void *x;
    int has_add;
    int64_t axes[GEMM_BATCH];
    nacre_f32_gemm g;
} conv_gemm;

static void make_columns(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst) {
    const conv_gemm *const j = source;
    const void *const x = conv_at(j->type, j->x, index * j->c.channels * conv_count(j->c.in, j->c.axes));
    if (j->type == NACRE_DTYPE_f32) {
        j->im2col(&j->c, x, k0, k, j0, n, j->gemm->nr, dst);
    } else {
        nacre_half_im2col(j->gemm->half(), j->type, &j->c, x, k0, k, j0, n, j->gemm->nr, dst);
    }
}

// Sets j to the product of a command, without its operands. The product refers to j.
static void make_product(conv_gemm *j, const nacre_kernel *kernel, const nacre_conv_words *w) {
    *j = (conv_gemm){.c = nacre_conv_of(&w->extents), .gemm = nacre_f32_gemm_part(w->gemm),
                     .im2col = (nacre_f32_im2col_fn *)kernel->fn,
                     .type = (nacre_dtype)w->type, .has_add = w->has_add != 0};
    const nacre_conv *const c = &j->c;
    const size_t k = conv_depth(c), n = conv_count(c->out, c->axes);
    nacre_f32_gemm *const g = &j->g;
    *g = (nacre_f32_gemm){.impl = j->gemm, .m = c->filters, .n = n, .k = k, .alpha = 1, .c_type = j->type, .ldc = n,
                          .finish = conv_finish(w)};
    g->a = (nacre_f32_operand){NULL, w->w_packed != 0, j->type, k, 1};
    g->row_count = c->groups;
    const size_t w_step = w->w_packed ? j->gemm->driver->packed_a(j->gemm, c->filters, k) : c->filters * k;
    if (conv_is_pointwise(c)) {
        g->b = (nacre_f32_operand){NULL, 0, j->type, n, 1};
    } else {
        g->b.type = NACRE_DTYPE_f32;
        g->make_b = make_columns;
        g->source = j;
    }
    const size_t batch[GEMM_BATCH] = {c->images, c->groups, 0, w_step, c->groups * c->channels * n, c->channels * n};
    for (size_t i = 0; i < GEMM_BATCH; i++) j->axes[i] = (int64_t)batch[i];
    g->batch = (nacre_batch){2, j->axes};
}

// Reports whether the part takes the product. Columns are made in whole vectors, so a panel must be
// a multiple of them.
static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    const size_t lanes = kernel->isa & NACRE_ISA_avx512 ? 16 : kernel->isa & NACRE_ISA_avx2 ? 8 : 1;
    return j.gemm->nr % lanes == 0 && j.gemm->path->fits(&j.g);
}

// Returns the elements that are converted to floats: the bias and the added operand.
static size_t converted(const conv_gemm *j) {
    const size_t filters = j->c.groups * j->c.filters;
    if (j->type == NACRE_DTYPE_f32) return 0;
    return nacre_align_floats(filters) +
        (j->has_add ? nacre_align_floats(j->c.images * filters * conv_count(j->c.out, j->c.axes)) : 0);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    return (converted(&j) + j.gemm->path->scratch(&j.g, threads)) * sizeof(float);
}

static void gemm_command(const nacre_call *c) {
    conv_gemm j;
    make_product(&j, c->kernel, (const void *)c->words);
    float *scratch = c->scratch;
    const size_t filters = j.c.groups * j.c.filters;
    j.x = j.g.b.data = nacre_operand(c, CONV_X);
    j.g.a.data = nacre_operand(c, CONV_W);
    j.g.c = nacre_operand(c, CONV_Y);
    j.g.row = nacre_conv_floats(c->team, j.gemm->half(), j.type, filters, nacre_operand(c, CONV_BIAS), &scratch);
    j.g.finish.add = nacre_conv_floats(c->team, j.gemm->half(), j.type,
                                       j.c.images * filters * conv_count(j.c.out, j.c.axes),
                                       nacre_operand(c, CONV_ADD), &scratch);
    j.gemm->path->run(&j.g, c->team, scratch);
}

static size_t gemm_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    if (operand != CONV_W) return 0;
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    return j.c.groups * j.gemm->driver->packed_a(j.gemm, j.g.m, j.g.k) * nacre_float_size(j.type);
}

static void gemm_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)operand;
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    const size_t size = j.gemm->driver->packed_a(j.gemm, j.g.m, j.g.k);
    for (size_t g = 0; g < j.c.groups; g++) {
        const nacre_f32_operand a = {conv_at(j.type, src, g * j.g.m * j.g.k), 0, j.type, j.g.k, 1};
        j.gemm->driver->pack_a(j.gemm, j.g.m, j.g.k, &a, conv_at(j.type, dst, g * size));
    }
}

const nacre_entry nacre_f32_conv_gemm_entry = {
    .words = sizeof(nacre_conv_words) / 8, .operands = CONV_OPERANDS, .run = gemm_command, .fits = gemm_fits,
    .scratch = gemm_scratch, .packed = gemm_packed, .pack = gemm_pack,
};
