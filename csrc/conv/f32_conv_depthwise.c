// Command f32_conv_depthwise.
#include "conv/command.h"

typedef struct {
    nacre_conv c;
    const nacre_half *half;
    nacre_dtype type;
    const void *x, *w, *add;
    void *y;
    nacre_f32_finish finish;
} depthwise_job;

static void depthwise_read(const void *source, size_t at, size_t n, float *dst) {
    const depthwise_job *const j = source;
    j->half->widen[j->type](conv_at(j->type, j->x, at), dst, n);
}

static void depthwise_weigh(const void *source, size_t filter, float *dst) {
    const depthwise_job *const j = source;
    const size_t taps = conv_count(j->c.kernel, j->c.axes);
    j->half->widen[j->type](conv_at(j->type, j->w, filter * taps), dst, taps);
}

static void depthwise_write(const void *source, size_t filter, size_t at, size_t n, float *sums) {
    (void)filter;
    const depthwise_job *const j = source;
    nacre_conv_store(j->half, j->type, &j->finish, j->add, at, n, sums, j->y);
}

// Returns the convolution of a command, without its operands.
static nacre_f32_depthwise depthwise_of(const nacre_kernel *kernel, const nacre_conv_words *w, depthwise_job *j) {
    *j = (depthwise_job){.c = nacre_conv_of(&w->extents), .type = (nacre_dtype)w->type, .finish = conv_finish(w)};
    nacre_f32_depthwise t = {.c = j->c, .impl = ((nacre_f32_depthwise_fn *)kernel->fn)()};
    if (j->type == NACRE_DTYPE_f32) {
        t.finish = j->finish;
        return t;
    }
    t.source = j;
    t.read = depthwise_read;
    t.weigh = depthwise_weigh;
    t.write = depthwise_write;
    return t;
}

// Reports whether a matrix product is faster: many filters of one plane with rows that fill no
// vector.
static int is_product(const nacre_conv *c) { return c->filters >= 16 && c->out[c->axes - 1] < 16; }

static int depthwise_command_fits(const nacre_kernel *kernel, const int64_t *words) {
    depthwise_job j;
    const nacre_f32_depthwise t = depthwise_of(kernel, (const void *)words, &j);
    return !is_product(&t.c) && t.impl->driver->fits(&t);
}

static size_t depthwise_command_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    depthwise_job j;
    const nacre_f32_depthwise t = depthwise_of(kernel, (const void *)words, &j);
    const size_t bias = j.type == NACRE_DTYPE_f32 ? 0 : nacre_align_floats(j.c.groups * j.c.filters);
    return (bias + t.impl->driver->scratch(&t, threads)) * sizeof(float);
}

static void depthwise_command(const nacre_call *c) {
    const nacre_conv_words *const w = (const void *)c->words;
    depthwise_job j;
    nacre_f32_depthwise t = depthwise_of(c->kernel, w, &j);
    float *scratch = c->scratch;
    j.half = nacre_f32_gemm_part(w->gemm)->half();
    j.x = t.x = nacre_operand(c, CONV_X);
    j.w = t.w = nacre_operand(c, CONV_W);
    j.add = t.finish.add = nacre_operand(c, CONV_ADD);
    j.y = t.y = nacre_operand(c, CONV_Y);
    t.bias = nacre_conv_floats(c->team, j.half, j.type, j.c.groups * j.c.filters, nacre_operand(c, CONV_BIAS),
                               &scratch);
    if (t.read != NULL) t.finish.add = NULL;
    t.impl->driver->run(&t, c->team, scratch);
}

const nacre_entry nacre_f32_conv_depthwise_entry = {
    .words = sizeof(nacre_conv_words) / 8, .operands = CONV_OPERANDS, .run = depthwise_command,
    .fits = depthwise_command_fits, .scratch = depthwise_command_scratch,
};
