// Op f32_rnn: networks of floats. One product per block of steps computes the inputs' part of the
// gates' sums. Then each step adds the state's part and applies the gates.
//
// Sequences are divided into units, each as many sequences as fit a tile of a product. A unit runs
// through all steps of a block by itself, on any thread. If threads cannot share the units evenly
// and a step is long, threads share the hidden states of every step instead. The order in which an
// element is computed is the same either way.
#include "rnn/f32_rnn.h"

#include "core/simd.h"

enum {
    RNN_BLOCK = 1 << 18, // sums of a block of steps, about; they stay in the second-level cache
    RNN_ROWS = 64        // fewest input rows that are worth a product
};

// rnn_product returns the product of `rows` input rows of a batch of one axis, or of one matrix if
// axes is NULL.
static nacre_f32_gemm rnn_product(const rnn_plan *p, size_t rows, const int64_t *axes) {
    return (nacre_f32_gemm){
        .impl = p->o->gemm,
        .m = rows,
        .n = p->width,
        .k = p->n->input,
        .a = {.type = p->o->type, .row = p->n->input, .col = 1},
        .b = {.packed = 1, .type = NACRE_DTYPE_f32},
        .batch = {axes == NULL ? 0 : 1, axes},
        .alpha = 1,
        .row_count = 1,
        .c_type = NACRE_DTYPE_f32,
        .ldc = p->width,
    };
}

// rnn_merges reports whether adjacent steps of all sequences make one product, for sequences of
// equal lengths.
static bool rnn_merges(const nacre_rnn *n) { return !n->batch_first || n->batch == 1; }

// rnn_make_plan sets the extents and strides of a plan. rnn_place sets its pointers.
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
    // There is one product for all sequences or one per sequence; reserve the larger scratch.
    const nacre_f32_gemm merged = rnn_product(&p, p.block * batch, NULL);
    const int64_t axes[] = {(int64_t)batch, 1, 0};
    const nacre_f32_gemm each = rnn_product(&p, p.block, axes);
    p.gemm_scratch = nacre_max(o->gemm->path->scratch(&merged, threads), o->gemm->path->scratch(&each, threads));
    return p;
}

// rnn_place sets the plan's pointers into scratch and returns the floats used. If scratch is NULL,
// it only counts.
static size_t rnn_place(rnn_plan *p, float *scratch) {
    const nacre_rnn *const n = p->n;
    const size_t states = n->directions * n->batch * n->hidden;
    const bool wide = p->o->type != NACRE_DTYPE_f32;
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

// ---- before the first step, and after the last ----

static void rnn_get_or_clear(const rnn_plan *p, const void *base, size_t at, size_t n, float *dst) {
    if (base == NULL) {
        memset(dst, 0, n * sizeof *dst);
    } else {
        rnn_get(p, base, at, n, dst);
    }
}

// rnn_add_biases adds the biases of input and state. For the hidden gate of a linear GRU, it takes
// the input's bias only: the state's bias is added with the product.
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
                memset(rnn_at(p, o->y, rnn_y_at(n, dir, b, t)), 0,
                       n->hidden * (o->type == NACRE_DTYPE_f32 ? sizeof(float) : sizeof(uint16_t)));
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

// ---- the inputs' part of the sums ----

typedef struct {
    size_t dir;
    size_t products, stride;  // products of consecutive input rows, and the stride between them
    size_t rows, row_step;
    size_t from;              // element of x at the first row
    float *to;
} rnn_inputs;

static void rnn_add_inputs(const rnn_plan *p, nacre_team *team, const rnn_inputs *in) {
    const rnn_operands *const o = p->o;
    const int64_t axes[] = {(int64_t)in->products, (int64_t)in->stride, 0};
    nacre_f32_gemm g = rnn_product(p, in->rows, axes);
    g.a.data = rnn_at(p, o->x, in->from);
    g.a.row = in->row_step;
    g.b.data = o->w + in->dir * p->packed_w;
    g.col = p->bias + in->dir * p->width;
    g.c = in->to;
    o->gemm->path->run(&g, team, p->gemm);
}

// rnn_sum_inputs computes the inputs' part of the sums for the block's steps. A step has slot step
// - first, or last - 1 - step if time runs backward.
static void rnn_sum_inputs(rnn_plan *p, nacre_team *team) {
    const nacre_rnn *const n = p->n;
    const size_t count = p->last - p->first, row = n->batch_first ? n->input : n->batch * n->input;
    const size_t sequence = n->batch_first ? n->steps * n->input : n->input;
    // Sequences with adjacent steps make one product.
    const bool merged = p->even && rnn_merges(n);
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
                dir, 1, 0, length - p->first - t, row, b * sequence + t * row,
                    sums + b * p->sums_batch + slot * p->sums_step,
            };
            rnn_add_inputs(p, team, &in);
        }
    }
}

// ---- weights ----

typedef struct {
    const rnn_plan *p;
    const void *src;
    size_t n, k, size;  // extents of a matrix [n, k], and the size of its packed form
    size_t panels;
    float *dst;
} rnn_weights;

static void rnn_pack_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rnn_weights *const w = job;
    const nacre_f32_gemm_impl *const gemm = w->p->o->gemm;
    const size_t matrix = chunk / w->panels, j = chunk % w->panels * gemm->nr;
    gemm->driver->pack_panel(gemm->half(), w->k, nacre_min(gemm->nr, w->n - j),
                             rnn_at(w->p, w->src, (matrix * w->n + j) * w->k), w->p->o->type,
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
        .type = (nacre_dtype)w->type,
        .pack_w = w->w_packed == 0,
        .pack_r = w->r_packed == 0,
    };
}

// rnn_take sets the operands, converted to the forms of rnn_operands.
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
    if (o->type != NACRE_DTYPE_f32 && o->bias != NULL) {
        rnn_get(p, o->bias, 0, n->directions * 2 * p->width, p->wide_bias);
        o->bias = p->wide_bias;
    }
    if (o->type != NACRE_DTYPE_f32 && o->peepholes != NULL) {
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
        nacre_f32_rnn_run_steps(&p, c->team);
    }
    rnn_end(&p);
}

// rnn_takes reports whether the part takes the products of the inputs of that many steps, for
// sequences of equal lengths.
static bool rnn_takes(const rnn_plan *p, size_t steps) {
    const size_t batch = p->n->batch;
    const int64_t axes[] = {(int64_t)batch, 1, 0};
    const nacre_f32_gemm g = rnn_merges(p->n) ? rnn_product(p, steps * batch, NULL) : rnn_product(p, steps, axes);
    return p->o->gemm->path->fits(&g);
}

// rnn_fits reports whether the part takes the products of a block, and an exact part also those of
// the last block, which may be shorter.
static int rnn_fits(const nacre_kernel *k, const int64_t *words) {
    const nacre_rnn_words *const w = (const void *)words;
    const nacre_rnn n = nacre_rnn_of_words(words);
    const rnn_operands o = rnn_operands_of(k, words);
    const rnn_plan p = rnn_make_plan(&n, &o, 1);
    const size_t last = n.steps % p.block;
    return rnn_takes(&p, p.block) && (last == 0 || !nacre_part(w->gemm)->entry->exact || rnn_takes(&p, last));
}

static size_t rnn_command_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    const nacre_rnn n = nacre_rnn_of_words(words);
    const rnn_operands o = rnn_operands_of(k, words);
    rnn_plan p = rnn_make_plan(&n, &o, threads);
    return rnn_place(&p, NULL) * sizeof(float);
}

// rnn_packed returns the bytes of packed weights. It returns 0 if most of them would be padding.
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
    .fits = rnn_fits,
    .scratch = rnn_command_scratch,
    .packed = rnn_packed,
    .pack = rnn_pack_constant,
};
