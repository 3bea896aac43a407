// The steps of f32_rnn: add the state's part to the sums of gates, then apply the gates.
#include "core/phases.h"
#include "rnn/f32_rnn.h"

enum {
    RNN_GRAIN = 1 << 18, // multiply-adds that are worth more than one thread
    RNN_STEP = 1 << 15   // multiply-adds of a step that are worth sharing among threads
};

// rnn_stride is hidden states j0..j1-1 of a unit in one step, for gates first..last-1. A step has
// two halves if the second half needs all states of the first.
typedef struct {
    const rnn_unit *u;
    size_t step;
    bool halves, second;
    size_t first, last;
    size_t j0, j1;
    const float *x;  // the transposed operand of the gates' weights
    float *sums;
    // The operands of products: `count` panels, `panels` of each gate, from state `at` on.
    size_t at, panels, count;
    const void *b[NACRE_GEMM_PANELS];
    float *c[NACRE_GEMM_PANELS];
    nacre_f32_epilogue e[NACRE_GEMM_PANELS];
} rnn_stride;

// rnn_epilogue returns the epilogue for the products of gate g from state j on. It adds them to the
// gate's sums; the products of a linear GRU's hidden gate are stored apart, with their bias.
static nacre_f32_epilogue rnn_epilogue(const rnn_plan *p, const rnn_stride *s, size_t g, size_t j) {
    nacre_f32_epilogue e = {.alpha = 1, .ld_add = p->sums_batch};
    if (!p->n->linear || g != 2) {
        e.add = s->sums + g * p->n->hidden + j;
    } else if (p->o->bias != NULL) {
        e.col = p->o->bias + s->u->dir * 2 * p->width + p->width + 2 * p->n->hidden + j;
    }
    return e;
}

static float *rnn_result(const rnn_plan *p, const rnn_stride *s, size_t g, size_t j) {
    return (p->n->linear && g == 2 ? p->linear + s->u->states : s->sums + g * p->n->hidden) + j;
}

static const float *rnn_panel(const rnn_plan *p, const rnn_stride *s, size_t g, size_t j) {
    return p->o->r + (s->u->dir * p->n->gates + g) * p->packed_r + j * p->n->hidden;
}

// rnn_point sets the operands to `panels` panels of each gate, from state j on.
static void rnn_point(const rnn_plan *p, rnn_stride *s, size_t j, size_t panels) {
    s->count = 0;
    for (size_t g = s->first; g < s->last; g++) {
        for (size_t i = 0; i < panels; i++, s->count++) {
            const size_t at = j + i * p->o->gemm->nr;
            s->b[s->count] = rnn_panel(p, s, g, at);
            s->c[s->count] = rnn_result(p, s, g, at);
            s->e[s->count] = rnn_epilogue(p, s, g, at);
        }
    }
    s->panels = panels;
}

// rnn_move moves the operands to state j.
static void rnn_move(const rnn_plan *p, rnn_stride *s, size_t j) {
    const ptrdiff_t by = (ptrdiff_t)j - (ptrdiff_t)s->at;
    for (size_t q = 0; q < s->count; q++) {
        s->b[q] = (const float *)s->b[q] + by * (ptrdiff_t)p->n->hidden;
        s->c[q] += by;
        if (s->e[q].add != NULL) s->e[q].add += by;
        if (s->e[q].col != NULL) s->e[q].col += by;
    }
}

// rnn_multiply adds the state's part to the sums of n states from j on: one panel, or several whole
// panels if the unit has one row.
static void rnn_multiply(const rnn_plan *p, rnn_stride *s, size_t j, size_t n) {
    const nacre_f32_gemm_impl *const gemm = p->o->gemm;
    const size_t panels = nacre_ceil_div(n, gemm->nr);
    if (panels == s->panels) {
        rnn_move(p, s, j);
    } else {
        rnn_point(p, s, j, panels);
    }
    s->at = j;
    if (s->u->rows == 1) {
        gemm->row(NACRE_DTYPE_f32, s->count, p->n->hidden, s->x, 1, s->b, s->c, nacre_min(n, gemm->nr), s->e);
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        const size_t ldc = p->n->linear && s->first + i == 2 ? p->n->hidden : p->sums_batch;
        gemm->tile(p->n->hidden, s->x, s->u->rows, s->b[i], s->c[i], ldc, s->u->rows, n, &s->e[i]);
    }
}

// rnn_activate applies the gates to the sums of n states from j on.
static void rnn_activate(const rnn_plan *p, const rnn_stride *s, size_t j, size_t n) {
    const nacre_f32_rnn_cell_impl *const impl = p->o->impl;
    const size_t hidden = p->n->hidden;
    nacre_f32_rnn_step *const run = p->n->gates == 1   ? impl->rnn
                                    : p->n->gates == 4 ? impl->lstm
                                    : p->n->linear     ? impl->gru_linear
                                    : s->second        ? impl->gru_state
                                                       : impl->gru_reset;
    for (size_t b = 0; b < s->u->rows; b++) {
        const size_t at = s->u->states + b * hidden + j;
        if (s->step >= rnn_length(p, s->u->b + b)) continue;
        nacre_f32_rnn_units units = {.n = n, .step = hidden, .sums = s->sums + b * p->sums_batch + j,
                                     .state = p->state + at};
        if (p->n->gates == 4) units.cell = p->cell + at;
        if (p->o->peepholes != NULL) units.peepholes = p->o->peepholes + s->u->dir * 3 * hidden + j;
        if (p->n->linear) units.linear = p->linear + at;
        if (s->halves) units.reset = p->reset + at;
        run(&p->n->cells[s->u->dir], &units);
    }
}

// rnn_hand_on transposes the new states for the next step, or half step, and writes them to y.
static void rnn_hand_on(const rnn_plan *p, const rnn_stride *s) {
    const nacre_rnn *const n = p->n;
    const rnn_unit *const u = s->u;
    const size_t count = s->j1 - s->j0;
    const float *const made = s->halves && !s->second ? p->reset : p->state;
    float *const made_t = s->halves && !s->second ? p->reset_t : p->state_t[(s->step + 1) % 2];
    rnn_transpose(p, u->rows, count, made + u->states + s->j0, made_t + u->states + s->j0 * u->rows);
    for (size_t b = 0; p->o->y != NULL && (s->second || !s->halves) && b < u->rows; b++) {
        const size_t length = rnn_length(p, u->b + b), t = rnn_backward(n, u->dir) ? length - 1 - s->step : s->step;
        if (s->step >= length) continue;
        rnn_put(p, p->o->y, rnn_y_at(n, u->dir, u->b + b, t) + s->j0, count,
                p->state + u->states + b * n->hidden + s->j0);
    }
}

// rnn_step computes hidden states j0..j1-1 of a unit for one step, or for half of one.
static void rnn_step(const rnn_plan *p, const rnn_unit *u, size_t step, bool second, size_t j0, size_t j1) {
    const nacre_rnn *const n = p->n;
    rnn_stride s;
    s.u = u;
    s.step = step;
    s.halves = rnn_resets(n);
    s.second = second;
    s.first = s.halves && second ? 2 : 0;
    s.last = s.halves ? s.first + 2 - second : n->gates;
    s.j0 = j0;
    s.j1 = j1;
    s.panels = 0;
    const size_t slot = rnn_backward(n, u->dir) ? p->last - 1 - step : step - p->first;
    s.sums = p->sums + u->dir * p->sums_dir + u->b * p->sums_batch + slot * p->sums_step;
    s.x = (s.halves && second ? p->reset_t : p->state_t[step % 2]) + u->states;
    // Every other step reads the weights backward, because the end of them is still in the cache.
    // Gates are applied one stride after the sums, so that their arithmetic overlaps the loads of
    // weights.
    const size_t nr = p->o->gemm->nr, gates = s.last - s.first,
        most = (u->rows == 1 ? NACRE_GEMM_PANELS / gates : 1) * nr;
    const size_t strides = nacre_ceil_div(j1 - j0, most);
    size_t before = 0, made = 0;
    for (size_t i = 0; i < strides; i++) {
        const size_t j = j0 + (step % 2 != 0 ? strides - 1 - i : i) * most, count = nacre_min(j1 - j, most);
        const size_t whole = count < nr ? count : count / nr * nr;
        rnn_multiply(p, &s, j, whole);
        if (whole < count) rnn_multiply(p, &s, j + whole, count - whole);
        if (made > 0) rnn_activate(p, &s, before, made);
        before = j;
        made = count;
    }
    if (made > 0) rnn_activate(p, &s, before, made);
    rnn_hand_on(p, &s);
}

static void rnn_unit_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rnn_plan *const p = job;
    const rnn_unit u = rnn_unit_at(p, chunk);
    for (size_t step = p->first; step < p->last && !nacre_stopped(p->team); step++) {
        rnn_step(p, &u, step, false, 0, p->n->hidden);
        if (rnn_resets(p->n)) rnn_step(p, &u, step, true, 0, p->n->hidden);
    }
}

static void rnn_columns_part(void *job, size_t phase, size_t part) {
    const rnn_plan *const p = job;
    const rnn_unit u = rnn_unit_at(p, part / p->chunks);
    const size_t j0 = part % p->chunks * p->columns, halves = rnn_resets(p->n) ? 2 : 1;
    rnn_step(p, &u, p->first + phase / halves, phase % halves != 0, j0, nacre_min(p->n->hidden, j0 + p->columns));
}

// rnn_chunks returns into how many parts to divide a step of each unit so that threads share the
// work evenly. It returns 1 if there are enough units or a step is too short.
static size_t rnn_chunks(const rnn_plan *p, size_t threads) {
    enum { ENOUGH = 4 };  // units per thread
    const size_t units = p->n->directions * p->units, work = p->rows * p->width * p->n->hidden;
    if (threads < 2 || units % threads == 0 || units >= ENOUGH * threads || work * units < RNN_STEP) return 1;
    size_t chunks = 2;
    while (units * chunks % threads != 0) chunks++;
    return units * chunks > NACRE_PHASE_PARTS ? 1 : nacre_min(chunks, nacre_ceil_div(p->n->hidden, p->o->gemm->nr));
}

void nacre_f32_rnn_run_steps(rnn_plan *p, nacre_team *team) {
    const nacre_rnn *const n = p->n;
    const size_t units = n->directions * p->units, work = p->rows * p->width * n->hidden, steps = p->last - p->first;
    const size_t chunks = rnn_chunks(p, nacre_team_threads(team));
    if (chunks == 1) {
        nacre_parallel(work * units * steps < RNN_GRAIN ? NULL : team, units, rnn_unit_chunk, p);
        return;
    }
    p->columns = nacre_ceil_div(nacre_ceil_div(n->hidden, p->o->gemm->nr), chunks) * p->o->gemm->nr;
    p->chunks = nacre_ceil_div(n->hidden, p->columns);
    nacre_run_phases(team, steps * (rnn_resets(n) ? 2 : 1), units * p->chunks, rnn_columns_part, p);
}
