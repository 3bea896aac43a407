// Commands f64_conv and f64_conv_transpose: the formula. Tests compare other convolutions with it.
#include "conv/command.h"
#include "core/simd.h"

typedef struct {
    const nacre_conv *c;
    const nacre_f64_finish *e;
    nacre_team *team;
    const double *x, *w, *bias;
    double *y;
} f64_job;

enum { TAPS_LOOKED = 1 << 16 }; // taps between two checks whether the run has stopped

// Applies clamp and map to the sums of a plane.
static void finish_plane(const f64_job *j, size_t plane, size_t n) {
    const nacre_f64_finish *const e = j->e;
    double *const y = j->y + plane * n;
    for (size_t i = 0; i < n && e->clamp; i++) {
        if (y[i] < e->low) y[i] = e->low;
        if (y[i] > e->high) y[i] = e->high;
    }
    if (e->map != NULL) e->map(y, y, n, e->params);
}

// Computes one plane of the result of a convolution.
static void conv_plane(void *job, size_t plane, size_t thread) {
    (void)thread;
    const f64_job *const j = job;
    const nacre_conv *const c = j->c;
    const size_t filter = plane % (c->groups * c->filters), image = plane / (c->groups * c->filters);
    const size_t group = filter / c->filters;
    const size_t in = conv_count(c->in, c->axes), out = conv_count(c->out, c->axes),
        taps = conv_count(c->kernel, c->axes);
    const double *const x = j->x + (image * c->groups + group) * c->channels * in;
    const double *const w = j->w + filter * c->channels * taps;
    size_t at[NACRE_CONV_AXES] = {0}, tap[NACRE_CONV_AXES] = {0};
    for (size_t o = 0; o < out && !nacre_stopped(j->team); o++, conv_next(at, c->out, c->axes)) {
        double sum = j->bias == NULL ? 0 : j->bias[filter];
        for (size_t t = 0; t < taps; t++, conv_next(tap, c->kernel, c->axes)) {
            if (t % TAPS_LOOKED == TAPS_LOOKED - 1 && nacre_stopped(j->team)) return;
            const ptrdiff_t i = conv_meet(c, c->in, at, tap);
            if (i < 0) continue;
            for (size_t ch = 0; ch < c->channels; ch++) sum += x[ch * in + (size_t)i] * w[ch * taps + t];
        }
        j->y[plane * out + o] = j->e->add == NULL ? sum : sum + j->e->add[plane * out + o];
    }
    finish_plane(j, plane, out);
}

void nacre_f64_conv__scalar(const nacre_conv *c, const nacre_f64_finish *e, nacre_team *team, const double *x,
                            const double *w, const double *bias, double *y) {
    f64_job j = {c, e, team, x, w, bias, y};
    nacre_parallel(team, c->images * c->groups * c->filters, conv_plane, &j);
}

// Computes one plane of the result of a transposed convolution.
static void transpose_plane(void *job, size_t plane, size_t thread) {
    (void)thread;
    const f64_job *const j = job;
    const nacre_conv *const c = j->c;
    const size_t filter = plane % (c->groups * c->filters), image = plane / (c->groups * c->filters);
    const size_t group = filter / c->filters;
    const size_t in = conv_count(c->in, c->axes), out = conv_count(c->out, c->axes),
        taps = conv_count(c->kernel, c->axes);
    const double *const x = j->x + (image * c->groups + group) * c->channels * in;
    const double *const w = j->w + (group * c->channels * c->filters + filter % c->filters) * taps;
    double *const y = j->y + plane * out;
    NACRE_SIMD for (size_t o = 0; o < out; o++) y[o] =
        (j->bias == NULL ? 0 : j->bias[filter]) + (j->e->add == NULL ? 0 : j->e->add[plane * out + o]);
    size_t at[NACRE_CONV_AXES] = {0}, tap[NACRE_CONV_AXES] = {0};
    for (size_t i = 0; i < in && !nacre_stopped(j->team); i++, conv_next(at, c->in, c->axes)) {
        for (size_t t = 0; t < taps; t++, conv_next(tap, c->kernel, c->axes)) {
            if (t % TAPS_LOOKED == TAPS_LOOKED - 1 && nacre_stopped(j->team)) return;
            const ptrdiff_t o = conv_meet(c, c->out, at, tap);
            if (o < 0) continue;
            double sum = 0;
            for (size_t ch = 0; ch < c->channels; ch++) sum += x[ch * in + i] * w[ch * c->filters * taps + t];
            y[o] += sum;
        }
    }
    finish_plane(j, plane, out);
}

void nacre_f64_conv_transpose__scalar(const nacre_conv *c, const nacre_f64_finish *e, nacre_team *team, const double *x,
                                      const double *w, const double *bias, double *y) {
    f64_job j = {c, e, team, x, w, bias, y};
    nacre_parallel(team, c->images * c->groups * c->filters, transpose_plane, &j);
}

static void f64_command(const nacre_call *call) {
    const nacre_conv_words *const w = (const void *)call->words;
    const nacre_conv c = nacre_conv_of(&w->extents);
    const nacre_f64_finish e = {nacre_operand(call, CONV_ADD), w->clamp != 0, w->low, w->high,
                                (conv_map *)nacre_part_fn(w->map), w->params};
    ((nacre_f64_conv_fn *)call->kernel->fn)(&c, &e, call->team, nacre_operand(call, CONV_X),
                                            nacre_operand(call, CONV_W),
                                            nacre_operand(call, CONV_BIAS), nacre_operand(call, CONV_Y));
}

const nacre_entry nacre_f64_conv_entry = {.words = sizeof(nacre_conv_words) / 8, .operands = CONV_OPERANDS,
                                          .run = f64_command};
