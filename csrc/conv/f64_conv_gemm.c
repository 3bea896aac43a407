// Command f64_conv_gemm: weights times columns of doubles, as in f32_conv_gemm.c.
#include "conv/command.h"

enum { GEMM_BATCH = 6 };  // extents and strides of the batch axes: images, groups

typedef struct {
    nacre_conv c;
    nacre_f64_im2col_fn *im2col;
    const double *x;
    int64_t axes[GEMM_BATCH];
    nacre_f64_gemm g;
} conv_gemm;

static void make_columns(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, double *dst) {
    const conv_gemm *const j = source;
    j->im2col(&j->c, j->x + index * j->c.channels * conv_count(j->c.in, j->c.axes), k0, k, j0, n, j->g.impl->nr, dst);
}

// Sets j to the product of a command, without its operands. The product refers to j.
static void make_product(conv_gemm *j, const nacre_kernel *kernel, const nacre_conv_words *w) {
    *j = (conv_gemm){.c = nacre_conv_of(&w->extents), .im2col = (nacre_f64_im2col_fn *)kernel->fn};
    const nacre_conv *const c = &j->c;
    const size_t k = conv_depth(c), n = conv_count(c->out, c->axes);
    j->g = (nacre_f64_gemm){.impl = nacre_f64_gemm_part(w->gemm), .m = c->filters, .n = n, .k = k, .a = {NULL, k, 1},
                            .alpha = 1, .row_count = c->groups, .ldc = n};
    j->g.finish = (nacre_f64_finish){.clamp = w->clamp != 0, .low = w->low, .high = w->high,
                                     .map = (conv_map *)nacre_part_fn(w->map), .params = w->params};
    if (conv_is_pointwise(c)) {
        j->g.b = (nacre_f64_operand){NULL, n, 1};
    } else {
        j->g.make_b = make_columns;
        j->g.source = j;
    }
    const size_t batch[GEMM_BATCH] = {c->images, c->groups, 0, c->filters * k, c->groups * c->channels * n,
                                      c->channels * n};
    for (size_t i = 0; i < GEMM_BATCH; i++) j->axes[i] = (int64_t)batch[i];
    j->g.batch = (nacre_batch){2, j->axes};
}

static int gemm_fits(const nacre_kernel *kernel, const int64_t *words) {
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    return j.g.impl->path->fits(&j.g);
}

static size_t gemm_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    conv_gemm j;
    make_product(&j, kernel, (const void *)words);
    return j.g.impl->path->scratch(&j.g, threads) * sizeof(double);
}

static void gemm_command(const nacre_call *c) {
    conv_gemm j;
    make_product(&j, c->kernel, (const void *)c->words);
    j.x = j.g.b.data = nacre_operand(c, CONV_X);
    j.g.a.data = nacre_operand(c, CONV_W);
    j.g.row = nacre_operand(c, CONV_BIAS);
    j.g.finish.add = nacre_operand(c, CONV_ADD);
    j.g.c = nacre_operand(c, CONV_Y);
    j.g.impl->path->run(&j.g, c->team, c->scratch);
}

const nacre_entry nacre_f64_conv_gemm_entry = {
    .words = sizeof(nacre_conv_words) / 8, .operands = CONV_OPERANDS, .run = gemm_command, .fits = gemm_fits,
    .scratch = gemm_scratch,
};
