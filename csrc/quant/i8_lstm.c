// LSTM over quantised weights: one product for the inputs of all steps, then one
// for the states before each.
#include <string.h>

#include "quant/quant.h"

enum { I8_LSTM_GRAIN = 1 << 12 };  // states that are worth a thread's attention

typedef struct {
    const nacre_i8_lstm *o;
    size_t longest, width, dir, step;
    // [longest, batch, width], [batch, width], [width], [batch, hidden]
    float *inputs, *sums, *bias, *active, *state, *cell;
    uint8_t *gemm;
} i8_lstm_plan;

static size_t i8_lstm_length(const nacre_rnn *n, size_t b) { return n->lengths == NULL ? n->steps : (size_t)n->lengths[b]; }

// The extents of the product of m rows of floats by the inputs' weights or the
// states'.
static nacre_i8_gemm i8_lstm_product(const i8_lstm_plan *p, size_t m, int states) {
    const nacre_i8_lstm *const o = p->o;
    const size_t k = states ? o->n.hidden : o->n.input;
    return (nacre_i8_gemm){
        .impl = o->gemm,
        .m = m,
        .n = p->width,
        .k = k,
        .a = {.row = k, .col = 1},
        .b = states ? o->r : o->w,
        .row_count = 1,
        .col_count = 1,
        .type = NACRE_QUANT_F32,
    };
}

static size_t i8_lstm_most(size_t a, size_t b) { return a > b ? a : b; }

// Hands out scratch, from NULL only counting.
static size_t i8_lstm_place(i8_lstm_plan *p, size_t threads, uint8_t *scratch) {
    const nacre_rnn *const n = &p->o->n;
    p->width = 4 * n->hidden;
    p->longest = 0;
    for (size_t b = 0; b < n->batch; b++) p->longest = i8_lstm_most(p->longest, i8_lstm_length(n, b));
    size_t used = 0;
    const struct {
        float **at;
        size_t size;
    } list[] = {
        {&p->inputs, p->longest * n->batch * p->width},
        {&p->sums, n->batch * p->width},
        {&p->bias, p->width},
        {&p->active, n->batch * n->hidden},
        {&p->state, n->batch * n->hidden},
        {&p->cell, n->batch * n->hidden},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (scratch != NULL) *list[i].at = (float *)(void *)(scratch + used);
        used += (list[i].size * sizeof(float) + 63) / 64 * 64;
    }
    if (scratch != NULL) p->gemm = scratch + used;
    const nacre_i8_gemm x = i8_lstm_product(p, p->longest * n->batch, 0), h = i8_lstm_product(p, n->batch, 1);
    return used + i8_lstm_most(nacre_i8_gemm_dynamic_scratch(&x, x.m * x.k, threads), nacre_i8_gemm_dynamic_scratch(&h, h.m * h.k, threads));
}

size_t nacre_i8_lstm_scratch(const nacre_i8_lstm *o, size_t threads) {
    i8_lstm_plan p = {.o = o};
    return i8_lstm_place(&p, threads, NULL);
}

static void i8_lstm_copy(float *dst, const float *src, size_t n) {
    if (src == NULL) {
        memset(dst, 0, n * sizeof *dst);
    } else {
        memcpy(dst, src, n * sizeof *dst);
    }
}

static float *i8_lstm_y(const i8_lstm_plan *p, size_t t, size_t b) {
    const nacre_rnn *const n = &p->o->n;
    return p->o->y + ((t * n->directions + p->dir) * n->batch + b) * n->hidden;
}

// One sequence's step.
static void i8_lstm_chunk(void *job, size_t b, size_t thread) {
    (void)thread;
    const i8_lstm_plan *const p = job;
    const nacre_i8_lstm *const o = p->o;
    const nacre_rnn *const n = &o->n;
    const size_t length = i8_lstm_length(n, b), hidden = n->hidden;
    if (p->step >= length) return;
    const size_t t = p->dir == 1 || n->reverse ? length - 1 - p->step : p->step;
    float *const sums = p->sums + b * p->width;
    const float *const inputs = p->inputs + (t * n->batch + b) * p->width;
    for (size_t i = 0; i < p->width; i++) sums[i] += inputs[i];
    const nacre_f32_rnn_units units = {
        .n = hidden,
        .step = hidden,
        .sums = sums,
        .peepholes = o->peepholes == NULL ? NULL : o->peepholes + p->dir * 3 * hidden,
        .cell = p->cell + b * hidden,
        .state = p->state + b * hidden,
    };
    o->cell->lstm(&n->cells[p->dir], &units);
    if (o->y != NULL) memcpy(i8_lstm_y(p, t, b), units.state, hidden * sizeof(float));
}

static void i8_lstm_direction(i8_lstm_plan *p, nacre_team *team) {
    const nacre_i8_lstm *const o = p->o;
    const nacre_rnn *const n = &o->n;
    const size_t states = n->batch * n->hidden, first = p->dir * states;
    i8_lstm_copy(p->bias, o->bias == NULL ? NULL : o->bias + p->dir * 2 * p->width, p->width);
    for (size_t i = 0; o->bias != NULL && i < p->width; i++) p->bias[i] += o->bias[(p->dir * 2 + 1) * p->width + i];
    i8_lstm_copy(p->state, o->h0 == NULL ? NULL : o->h0 + first, states);
    i8_lstm_copy(p->cell, o->c0 == NULL ? NULL : o->c0 + first, states);
    nacre_i8_gemm x = i8_lstm_product(p, p->longest * n->batch, 0), h = i8_lstm_product(p, n->batch, 1);
    const size_t vectors = p->dir * p->width;
    x.b.data = (const uint8_t *)o->w.data + p->dir * o->w_step;
    x.b_zero = o->w_zero + vectors;
    x.col_scale = o->w_scale + vectors;
    x.add = p->bias;
    x.c = p->inputs;
    h.b.data = (const uint8_t *)o->r.data + p->dir * o->r_step;
    h.b_zero = o->r_zero + vectors;
    h.col_scale = o->r_scale + vectors;
    h.c = p->sums;
    if (x.m > 0) nacre_i8_gemm_dynamic_run(&x, o->quantize, team, x.m * x.k, o->x, p->gemm);
    for (p->step = 0; p->step < p->longest; p->step++) {
        for (size_t b = 0; b < n->batch; b++) {
            const size_t at = b * n->hidden;
            i8_lstm_copy(p->active + at, p->step < i8_lstm_length(n, b) ? p->state + at : NULL, n->hidden);
        }
        nacre_i8_gemm_dynamic_run(&h, o->quantize, team, states, p->active, p->gemm);
        nacre_parallel(states < I8_LSTM_GRAIN ? NULL : team, n->batch, i8_lstm_chunk, p);
    }
    for (size_t b = 0; o->y != NULL && b < n->batch; b++) {
        for (size_t t = i8_lstm_length(n, b); t < n->steps; t++) memset(i8_lstm_y(p, t, b), 0, n->hidden * sizeof(float));
    }
    if (o->y_h != NULL) memcpy(o->y_h + first, p->state, states * sizeof(float));
    if (o->y_c != NULL) memcpy(o->y_c + first, p->cell, states * sizeof(float));
}

void nacre_i8_lstm_run(const nacre_i8_lstm *o, nacre_team *team, uint8_t *scratch) {
    i8_lstm_plan p = {.o = o};
    i8_lstm_place(&p, nacre_team_threads(team), scratch);
    for (p.dir = 0; p.dir < o->n.directions; p.dir++) i8_lstm_direction(&p, team);
}
