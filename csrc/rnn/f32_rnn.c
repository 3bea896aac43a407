// Networks of floats. What the inputs add to the sums of gates is computed for a
// block of steps by one product; then each step adds what the state gives and
// goes through the gates.
//
// Sequences are cut into units of as many as fit a tile of a product. Units run
// on their own through all steps of a block, in any thread; where threads cannot
// share them evenly, and a step is long, the hidden states of every step are shared
// out instead. Neither changes the order in which one element is computed.
#include <math.h>
#include <string.h>

#include "core/phases.h"
#include "core/simd.h"
#include "half/half.h"
#include "rnn/rnn.h"

enum {
    RNN_BLOCK = 1 << 18, // sums of a block of steps: second-level cache
    RNN_ROWS = 64,       // of the input that are worth a product of their own
    RNN_GRAIN = 1 << 18, // multiply-adds that are worth a thread's attention
    RNN_STEP = 1 << 15   // of a step that threads who wait for it share
};

// The operands of rnn.h: w and r are packed, bias and peepholes are floats.
typedef struct {
    const nacre_f32_gemm_impl *gemm;
    const nacre_f32_rnn_cell_impl *impl;
    nacre_float_type type;
    const void *x, *h0, *c0;
    void *y, *y_h, *y_c;
    const float *w, *r, *bias, *peepholes;
    bool pack_w, pack_r;  // as they come they are not packed
} rnn_operands;

typedef struct {
    const nacre_rnn *n;
    const rnn_operands *o;
    nacre_team *team;
    size_t width;          // sums of one step of one sequence
    size_t block;          // steps at a time
    size_t rows, units;    // sequences of a unit, units of a direction
    size_t longest;        // steps of the longest sequence
    bool even;             // all sequences are as long as that
    size_t packed_w, packed_r;
    size_t gemm_scratch;
    // Of a block: steps first..last-1, whose sums lie at sums + direction * sums_dir +
    // sequence * sums_batch + slot * sums_step.
    size_t first, last;
    size_t sums_dir, sums_batch, sums_step;
    float *sums, *bias;
    // [directions, batch, hidden]; _t are those of a unit transposed, of which the
    // state's are read and written in turn.
    float *state, *state_t[2], *cell, *reset, *reset_t, *linear;
    float *gemm;
    // Where operands are brought into the form of rnn_operands.
    float *wide_bias, *wide_peepholes, *wide_w, *wide_r;
    // Of a step that is shared out: hidden states of a part, and parts of a unit.
    size_t columns, chunks;
} rnn_plan;

static size_t rnn_length(const rnn_plan *p, size_t b) { return p->n->lengths == NULL ? p->n->steps : (size_t)p->n->lengths[b]; }
static bool rnn_backward(const nacre_rnn *n, size_t dir) { return dir == 1 || n->reverse; }
static bool rnn_resets(const nacre_rnn *n) { return n->gates == 3 && !n->linear; }

// Extents and strides; the pointers follow when there is memory.
static rnn_plan rnn_make_plan(const nacre_rnn *n, const rnn_operands *o, size_t threads) {
    const nacre_f32_gemm_driver *const driver = o->gemm->driver;
    rnn_plan p = {.n = n, .o = o, .width = n->gates * n->hidden};
    p.rows = driver->panel_rows(o->gemm, n->batch);
    p.units = nacre_ceil_div(n->batch, p.rows);
    p.even = true;
    for (size_t b = 0; b < n->batch; b++) {
        const size_t length = rnn_length(&p, b);
        p.even = p.even && (b == 0 || length == p.longest);
        p.longest = nacre_max(p.longest, length);
    }
    const size_t batch = nacre_max(n->batch, 1);
    p.block = nacre_max(RNN_ROWS / batch, RNN_BLOCK / nacre_max(p.width, 1) / batch);
    p.block = nacre_max(1, nacre_min(p.block, n->steps));
    p.packed_w = driver->packed_b(o->gemm, p.width, n->input);
    p.packed_r = driver->packed_b(o->gemm, n->hidden, n->hidden);
    // One product for all sequences, or one for each: the longest blocks need most.
    const size_t axes[] = {batch, 1, 0};
    nacre_f32_gemm g = {.impl = o->gemm, .m = p.block * batch, .n = p.width, .k = n->input, .a.type = o->type, .b.packed = 1, .row_count = 1};
    p.gemm_scratch = driver->scratch(&g, threads);
    g.m = p.block;
    g.batch = (nacre_batch){1, axes};
    p.gemm_scratch = nacre_max(p.gemm_scratch, driver->scratch(&g, threads));
    return p;
}

// Hands out scratch in the order of the plan's pointers, from NULL only counting.
static size_t rnn_place(rnn_plan *p, float *scratch) {
    const nacre_rnn *const n = p->n;
    const size_t states = n->directions * n->batch * n->hidden;
    const bool wide = p->o->type != NACRE_FLOAT32;
    size_t used = 0;
    const struct {
        float **at;
        size_t size;
    } list[] = {
        {&p->sums, n->directions * p->block * n->batch * p->width},
        {&p->bias, n->directions * p->width},
        {&p->state, states},
        {&p->state_t[0], states},
        {&p->state_t[1], states},
        {&p->cell, n->gates == 4 ? states : 0},
        {&p->reset, rnn_resets(n) ? states : 0},
        {&p->reset_t, rnn_resets(n) ? states : 0},
        {&p->linear, n->linear ? states : 0},
        {&p->gemm, p->gemm_scratch},
        {&p->wide_bias, wide ? n->directions * 2 * p->width : 0},
        {&p->wide_peepholes, wide ? n->directions * 3 * n->hidden : 0},
        {&p->wide_w, p->o->pack_w ? n->directions * p->packed_w : 0},
        {&p->wide_r, p->o->pack_r ? n->directions * n->gates * p->packed_r : 0},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (scratch != NULL) *list[i].at = scratch + used;
        used += nacre_align_floats(list[i].size);
    }
    return used;
}

// ---- elements of 16 bits ----

static void *rnn_at(const rnn_plan *p, const void *base, size_t at) {
    return (char *)(uintptr_t)base + at * (p->o->type == NACRE_FLOAT32 ? sizeof(float) : sizeof(uint16_t));
}

static void rnn_get(const rnn_plan *p, const void *base, size_t at, size_t n, float *dst) {
    p->o->gemm->half()->widen[p->o->type](rnn_at(p, base, at), dst, n);
}

static void rnn_put(const rnn_plan *p, void *base, size_t at, size_t n, const float *src) {
    p->o->gemm->half()->narrow[p->o->type](src, rnn_at(p, base, at), n);
}

// ---- what is there before the first step, and after the last ----

// The element of a state as the operands lie.
static size_t rnn_state_at(const nacre_rnn *n, size_t dir, size_t b) {
    return (n->batch_first ? b * n->directions + dir : dir * n->batch + b) * n->hidden;
}

static size_t rnn_y_at(const nacre_rnn *n, size_t dir, size_t b, size_t t) {
    const size_t row = n->batch_first ? (b * n->steps + t) * n->directions + dir : (t * n->directions + dir) * n->batch + b;
    return row * n->hidden;
}

// dst[i * rows + b] = src[b * hidden + i] for the unit's sequences and i < n.
static void rnn_transpose(const rnn_plan *p, size_t rows, size_t n, const float *src, float *dst) {
    if (rows == 1) {
        memcpy(dst, src, n * sizeof *dst);
    } else {
        p->o->gemm->driver->pack_panel(p->o->gemm->half(), n, rows, src, NACRE_FLOAT32, p->n->hidden, 1, rows, dst);
    }
}

// A unit is some of the sequences in one direction.
typedef struct {
    size_t dir, b, rows;
    size_t states;  // where the unit's states begin
} rnn_unit;

static rnn_unit rnn_unit_at(const rnn_plan *p, size_t index) {
    const nacre_rnn *const n = p->n;
    rnn_unit u = {.dir = index / p->units, .b = index % p->units * p->rows};
    u.rows = nacre_min(p->rows, n->batch - u.b);
    u.states = (u.dir * n->batch + u.b) * n->hidden;
    return u;
}

static void rnn_get_or_clear(const rnn_plan *p, const void *base, size_t at, size_t n, float *dst) {
    if (base == NULL) {
        memset(dst, 0, n * sizeof *dst);
    } else {
        rnn_get(p, base, at, n, dst);
    }
}

// The biases of input and state together, but for the hidden gate of a GRU that
// multiplies the state's part: that has its bias with the product.
static void rnn_add_biases(const rnn_plan *p, size_t dir) {
    float *const sum = p->bias + dir * p->width;
    if (p->o->bias == NULL) {
        memset(sum, 0, p->width * sizeof *sum);
        return;
    }
    const float *const w = p->o->bias + dir * 2 * p->width, *const r = w + p->width;
    const size_t both = p->n->linear ? 2 * p->n->hidden : p->width;
    NACRE_SIMD for (size_t i = 0; i < p->width; i++) sum[i] = i < both ? w[i] + r[i] : w[i];
}

static void rnn_begin(rnn_plan *p) {
    const nacre_rnn *const n = p->n;
    const rnn_operands *const o = p->o;
    for (size_t dir = 0; dir < n->directions; dir++) {
        rnn_add_biases(p, dir);
        for (size_t b = 0; b < n->batch; b++) {
            const size_t from = rnn_state_at(n, dir, b), to = (dir * n->batch + b) * n->hidden;
            rnn_get_or_clear(p, o->h0, from, n->hidden, p->state + to);
            if (n->gates == 4) rnn_get_or_clear(p, o->c0, from, n->hidden, p->cell + to);
            if (rnn_resets(n)) memset(p->reset + to, 0, n->hidden * sizeof(float));
            for (size_t t = rnn_length(p, b); o->y != NULL && t < n->steps; t++) {
                memset(rnn_at(p, o->y, rnn_y_at(n, dir, b, t)), 0, n->hidden * (o->type == NACRE_FLOAT32 ? sizeof(float) : sizeof(uint16_t)));
            }
        }
    }
    for (size_t i = 0; i < n->directions * p->units; i++) {
        const rnn_unit u = rnn_unit_at(p, i);
        rnn_transpose(p, u.rows, n->hidden, p->state + u.states, p->state_t[0] + u.states);
    }
}

static void rnn_end(const rnn_plan *p) {
    const nacre_rnn *const n = p->n;
    for (size_t dir = 0; dir < n->directions; dir++) {
        for (size_t b = 0; b < n->batch; b++) {
            const size_t from = (dir * n->batch + b) * n->hidden, to = rnn_state_at(n, dir, b);
            if (p->o->y_h != NULL) rnn_put(p, p->o->y_h, to, n->hidden, p->state + from);
            if (p->o->y_c != NULL) rnn_put(p, p->o->y_c, to, n->hidden, p->cell + from);
        }
    }
}

// ---- what the inputs add ----

typedef struct {
    size_t dir;
    size_t products, stride;  // of rows of the input that follow each other, and what is between them
    size_t rows, row_step;
    size_t from;              // the first row's element of x
    float *to;
} rnn_inputs;

static void rnn_add_inputs(const rnn_plan *p, nacre_team *team, const rnn_inputs *in) {
    const rnn_operands *const o = p->o;
    const size_t axes[] = {in->products, in->stride, 0};
    const nacre_f32_gemm g = {
        .impl = o->gemm,
        .m = in->rows,
        .n = p->width,
        .k = p->n->input,
        .a = {rnn_at(p, o->x, in->from), 0, o->type, in->row_step, 1},
        .b = {.data = o->w + in->dir * p->packed_w, .packed = 1},
        .batch = {1, axes},
        .alpha = 1,
        .row_count = 1,
        .col = p->bias + in->dir * p->width,
        .c = in->to,
        .ldc = p->width,
    };
    o->gemm->driver->run(&g, team, p->gemm);
}

// Fills the sums of the block's steps. A step of a sequence has the slot
// step - first, or last - 1 - step where time runs backward.
static void rnn_sum_inputs(rnn_plan *p, nacre_team *team) {
    const nacre_rnn *const n = p->n;
    const size_t count = p->last - p->first, row = n->batch_first ? n->input : n->batch * n->input;
    const size_t sequence = n->batch_first ? n->steps * n->input : n->input;
    // Sequences whose steps lie side by side make one product.
    const bool merged = p->even && (!n->batch_first || n->batch == 1);
    p->sums_step = merged ? n->batch * p->width : p->width;
    p->sums_batch = merged ? p->width : count * p->width;
    p->sums_dir = count * n->batch * p->width;
    for (size_t dir = 0; dir < n->directions; dir++) {
        float *const sums = p->sums + dir * p->sums_dir;
        const bool backward = rnn_backward(n, dir);
        if (p->even || !backward) {
            const size_t t = backward ? p->longest - p->last : p->first;
            rnn_inputs in = {dir, n->batch, sequence, count, row, t * row, sums};
            if (merged) in = (rnn_inputs){dir, 1, 0, count * n->batch, n->input, t * row, sums};
            rnn_add_inputs(p, team, &in);
            continue;
        }
        for (size_t b = 0; b < n->batch; b++) {
            const size_t length = rnn_length(p, b);
            if (length <= p->first) continue;
            const size_t t = length > p->last ? length - p->last : 0, slot = length > p->last ? 0 : p->last - length;
            const rnn_inputs in = {
                dir, 1, 0, length - p->first - t, row, b * sequence + t * row, sums + b * p->sums_batch + slot * p->sums_step,
            };
            rnn_add_inputs(p, team, &in);
        }
    }
}

// ---- steps ----

// Hidden states j0..j1-1 of a unit in one step, or in half of one where the second needs
// all that the first makes: of these the gates from first to last - 1.
typedef struct {
    const rnn_unit *u;
    size_t step;
    bool halves, second;
    size_t first, last;
    size_t j0, j1;
    const float *x;  // what the gates' weights multiply, transposed
    float *sums;
    // Operands of products with `panels` panels of each gate from state `at` on.
    size_t at, panels, count;
    const float *b[NACRE_GEMM_PANELS];
    float *c[NACRE_GEMM_PANELS];
    nacre_f32_epilogue e[NACRE_GEMM_PANELS];
} rnn_stride;

// What becomes of the products of gate g with n states from j on: they are added to the
// gate's sums, or are GRU's linear.
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

// Points the operands at that many panels of each gate from state j on.
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

// Moves the operands to state j.
static void rnn_move(const rnn_plan *p, rnn_stride *s, size_t j) {
    const ptrdiff_t by = (ptrdiff_t)j - (ptrdiff_t)s->at;
    for (size_t q = 0; q < s->count; q++) {
        s->b[q] += by * (ptrdiff_t)p->n->hidden;
        s->c[q] += by;
        if (s->e[q].add != NULL) s->e[q].add += by;
        if (s->e[q].col != NULL) s->e[q].col += by;
    }
}

// Adds what the state gives to n states from j on: of one panel, or of a few whole ones
// in a unit of one row.
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
        gemm->row(s->count, p->n->hidden, s->x, 1, s->b, s->c, nacre_min(n, gemm->nr), s->e);
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        const size_t ldc = p->n->linear && s->first + i == 2 ? p->n->hidden : p->sums_batch;
        gemm->tile(p->n->hidden, s->x, s->u->rows, s->b[i], s->c[i], ldc, s->u->rows, n, &s->e[i]);
    }
}

// Takes the sums of n states from j on through the gates.
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
        nacre_f32_rnn_units units = {.n = n, .step = hidden, .sums = s->sums + b * p->sums_batch + j, .state = p->state + at};
        if (p->n->gates == 4) units.cell = p->cell + at;
        if (p->o->peepholes != NULL) units.peepholes = p->o->peepholes + s->u->dir * 3 * hidden + j;
        if (p->n->linear) units.linear = p->linear + at;
        if (s->halves) units.reset = p->reset + at;
        run(&p->n->cells[s->u->dir], &units);
    }
}

// Hands on what a step made: to the next, and to y.
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
        rnn_put(p, p->o->y, rnn_y_at(n, u->dir, u->b + b, t) + s->j0, count, p->state + u->states + b * n->hidden + s->j0);
    }
}

// Takes hidden states j0..j1-1 of a unit through a step, or through half of one.
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
    // Every other step goes through the weights from their end, where the step before left
    // them in the cache. Gates are one stride behind the sums: their arithmetic is done while
    // weights arrive.
    const size_t nr = p->o->gemm->nr, gates = s.last - s.first, most = (u->rows == 1 ? NACRE_GEMM_PANELS / gates : 1) * nr;
    const size_t strides = nacre_ceil_div(j1 - j0, most);
    size_t before = 0, made = 0;
    for (size_t i = 0; i < strides; i++) {
        const size_t j = j0 + (step % 2 != 0 ? strides - 1 - i : i) * most, n = nacre_min(j1 - j, most), whole = n < nr ? n : n / nr * nr;
        rnn_multiply(p, &s, j, whole);
        if (whole < n) rnn_multiply(p, &s, j + whole, n - whole);
        if (made > 0) rnn_activate(p, &s, before, made);
        before = j;
        made = n;
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

// Parts of a step of one unit: as many as threads share units evenly, and one where units
// are enough or a step too short.
static size_t rnn_chunks(const rnn_plan *p, size_t threads) {
    enum { ENOUGH = 4 };  // units per thread
    const size_t units = p->n->directions * p->units, work = p->rows * p->width * p->n->hidden;
    if (threads < 2 || units % threads == 0 || units >= ENOUGH * threads || work * units < RNN_STEP) return 1;
    size_t chunks = 2;
    while (units * chunks % threads != 0) chunks++;
    return units * chunks > NACRE_PHASE_PARTS ? 1 : nacre_min(chunks, nacre_ceil_div(p->n->hidden, p->o->gemm->nr));
}

static void rnn_run_block(rnn_plan *p, nacre_team *team) {
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

// ---- weights ----

typedef struct {
    const rnn_plan *p;
    const void *src;
    size_t n, k, size;  // of a matrix [n, k] and of its packed form
    size_t panels;
    float *dst;
} rnn_weights;

static void rnn_pack_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rnn_weights *const w = job;
    const nacre_f32_gemm_impl *const gemm = w->p->o->gemm;
    const size_t matrix = chunk / w->panels, j = chunk % w->panels * gemm->nr;
    gemm->driver->pack_panel(gemm->half(), w->k, nacre_min(gemm->nr, w->n - j), rnn_at(w->p, w->src, (matrix * w->n + j) * w->k), w->p->o->type,
                             w->k, 1, gemm->nr, w->dst + matrix * w->size + j * w->k);
}

static void rnn_pack(const rnn_plan *p, nacre_team *team, int operand, const void *src, float *dst) {
    const nacre_rnn *const n = p->n;
    rnn_weights w = {.p = p, .src = src, .n = n->hidden, .k = n->hidden, .size = p->packed_r, .dst = dst};
    if (operand == 1) {
        w.n = p->width;
        w.k = n->input;
        w.size = p->packed_w;
    }
    w.panels = nacre_ceil_div(w.n, p->o->gemm->nr);
    nacre_parallel(team, n->directions * (operand == 1 ? 1 : n->gates) * w.panels, rnn_pack_chunk, &w);
}

// ---- commands ----

static rnn_operands rnn_operands_of(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_rnn_words *const w = (const void *)words;
    return (rnn_operands){
        .gemm = nacre_f32_gemm_part(w->gemm),
        .impl = ((nacre_f32_rnn_cell_fn *)kernel->fn)(),
        .type = (nacre_float_type)w->type,
        .pack_w = w->w_packed == 0,
        .pack_r = w->r_packed == 0,
    };
}

// Brings operands that come in other forms into those of rnn_operands.
static void rnn_take(const nacre_call *c, rnn_plan *p, rnn_operands *o) {
    const nacre_rnn *const n = p->n;
    o->x = nacre_operand(c, 0);
    o->w = nacre_operand(c, 1);
    o->r = nacre_operand(c, 2);
    o->bias = nacre_operand(c, 3);
    o->h0 = nacre_operand(c, 5);
    o->c0 = nacre_operand(c, 6);
    o->peepholes = nacre_operand(c, 7);
    o->y = nacre_operand(c, 8);
    o->y_h = nacre_operand(c, 9);
    o->y_c = nacre_operand(c, 10);
    if (o->type != NACRE_FLOAT32 && o->bias != NULL) {
        rnn_get(p, o->bias, 0, n->directions * 2 * p->width, p->wide_bias);
        o->bias = p->wide_bias;
    }
    if (o->type != NACRE_FLOAT32 && o->peepholes != NULL) {
        rnn_get(p, o->peepholes, 0, n->directions * 3 * n->hidden, p->wide_peepholes);
        o->peepholes = p->wide_peepholes;
    }
    if (o->pack_w) {
        rnn_pack(p, c->team, 1, o->w, p->wide_w);
        o->w = p->wide_w;
    }
    if (o->pack_r) {
        rnn_pack(p, c->team, 2, o->r, p->wide_r);
        o->r = p->wide_r;
    }
}

static void rnn_command(const nacre_call *c) {
    nacre_rnn n = nacre_rnn_of_words(c->words);
    if (n.batch == 0 || n.hidden == 0 || !nacre_rnn_take_lengths(c, &n)) return;
    rnn_operands o = rnn_operands_of(c->kernel, c->words);
    rnn_plan p = rnn_make_plan(&n, &o, nacre_team_threads(c->team));
    p.team = c->team;
    rnn_place(&p, c->scratch);
    rnn_take(c, &p, &o);
    rnn_begin(&p);
    for (p.first = 0; p.first < p.longest && !nacre_stopped(c->team); p.first = p.last) {
        p.last = nacre_min(p.longest, p.first + p.block);
        rnn_sum_inputs(&p, c->team);
        rnn_run_block(&p, c->team);
    }
    rnn_end(&p);
}

static size_t rnn_command_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    const nacre_rnn n = nacre_rnn_of_words(words);
    const rnn_operands o = rnn_operands_of(k, words);
    rnn_plan p = rnn_make_plan(&n, &o, threads);
    return rnn_place(&p, NULL) * sizeof(float);
}

// Weights are packed unless the padding would be most of them.
static size_t rnn_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    enum { MOST_PADDING = 4, SMALL = 1 << 16 };
    if (operand != 1 && operand != 2) return 0;
    const nacre_rnn n = nacre_rnn_of_words(words);
    const rnn_operands o = rnn_operands_of(k, words);
    const size_t rows = operand == 1 ? n.gates * n.hidden : n.hidden, depth = operand == 1 ? n.input : n.hidden;
    const size_t size = o.gemm->driver->packed_b(o.gemm, rows, depth);
    if (size > MOST_PADDING * rows * depth && size > SMALL) return 0;
    return n.directions * (operand == 1 ? 1 : n.gates) * size * sizeof(float);
}

static void rnn_pack_constant(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst) {
    const nacre_rnn n = nacre_rnn_of_words(words);
    const rnn_operands o = rnn_operands_of(k, words);
    const rnn_plan p = rnn_make_plan(&n, &o, 1);
    rnn_pack(&p, NULL, (int)operand, src, dst);
}

const nacre_entry nacre_f32_rnn_entry = {
    .words = sizeof(nacre_rnn_words) / 8,
    .operands = 11,
    .run = rnn_command,
    .scratch = rnn_command_scratch,
    .packed = rnn_packed,
    .pack = rnn_pack_constant,
};
