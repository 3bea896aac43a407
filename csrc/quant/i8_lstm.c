// LSTM over quantised weights: one product for the inputs of all steps, by tiles, then one for the
// states before each step: in lines for few sequences and unpacked weights, else by tiles.
#include "core/simd.h"
#include "quant/numbers.h"

enum { I8_LSTM_GRAIN = 1 << 12 };  // least states of a piece for a thread

// The operands after the operands of f32_rnn.
enum { I8_LSTM_SCALES = 11, I8_LSTM_OPERANDS = 15 };

// The weights of the inputs or of the states.
typedef struct {
    nacre_i8_operand matrix;  // of the first direction
    size_t depth, step;       // rows; bytes from one direction to the next
    float *scale;             // [directions, width]
    int32_t *zero;
} i8_lstm_weights;

typedef struct {
    nacre_rnn n;
    const nacre_i8_gemm_impl *gemm;
    const nacre_f32_quantize_impl *quantize;
    const nacre_f32_rnn_cell_impl *cell_of;
    int lines;  // products of states are computed in lines
    i8_lstm_weights w[2];
    const float *x, *given_bias, *peepholes, *h0, *c0;
    float *y, *y_h, *y_c;
    size_t longest, width, dir, step;
    // [steps, batch, width], [batch, width], [width], [batch, hidden]
    float *inputs, *sums, *bias, *active, *state, *cell;
    uint8_t *scratch;  // of products
} i8_lstm;

static size_t i8_lstm_length(const nacre_rnn *n, size_t b) {
    return n->lengths == NULL ? n->steps : (size_t)n->lengths[b];
}

static i8_lstm i8_lstm_of(const int64_t *words, int lines) {
    const nacre_i8_lstm_words *const w = (const void *)words;
    i8_lstm p = {
        .n = nacre_rnn_of_words(words),
        .lines = lines,
        .gemm = ((nacre_i8_gemm_fn *)nacre_part_fn(w->rnn.gemm))(),
        .quantize = ((nacre_f32_quantize_fn *)nacre_part_fn(w->quantize))(),
        .cell_of = ((nacre_f32_rnn_cell_fn *)nacre_part_fn(w->cell))(),
    };
    p.width = p.n.gates * p.n.hidden;
    const size_t depth[2] = {p.n.input, p.n.hidden};
    const int packed[2] = {w->rnn.w_packed != 0, w->rnn.r_packed != 0}, sign[2] = {w->w_signed != 0, w->r_signed != 0};
    for (size_t i = 0; i < 2; i++) {
        p.w[i].matrix = (nacre_i8_operand){NULL, packed[i], sign[i], p.width, 1};
        p.w[i].depth = depth[i];
        p.w[i].step = packed[i] ? nacre_i8_gemm_packed_b(p.gemm, p.width, depth[i]) : p.width * depth[i];
    }
    return p;
}

// Returns the product of m rows of floats by the inputs' weights (0) or the states' (1).
static nacre_i8_gemm i8_lstm_product(const i8_lstm *p, size_t m, size_t which) {
    const i8_lstm_weights *const w = &p->w[which];
    return (nacre_i8_gemm){
        .impl = p->gemm,
        .m = m,
        .n = p->width,
        .k = w->depth,
        .a = {.row = w->depth, .col = 1},
        .b = w->matrix,
        .lines = p->lines && which == 1,
        .row_count = 1,
        .col_count = 1,
        .type = NACRE_DTYPE_f32,
    };
}

// Lays out scratch and returns its bytes; a NULL scratch only counts.
static size_t i8_lstm_place(i8_lstm *p, size_t threads, uint8_t *scratch) {
    const size_t batch = p->n.batch, states = batch * p->n.hidden, columns = p->n.directions * p->width;
    size_t used = 0;
    const struct {
        void *at;
        size_t size;
    } list[] = {
        {&p->inputs, p->n.steps * batch * p->width},
        {&p->sums, batch * p->width},
        {&p->bias, p->width},
        {&p->active, states},
        {&p->state, states},
        {&p->cell, states},
        {&p->w[0].scale, columns},
        {&p->w[0].zero, columns},
        {&p->w[1].scale, columns},
        {&p->w[1].zero, columns},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (scratch != NULL) {
            void *const here = scratch + used;
            memcpy(list[i].at, &here, sizeof here);
        }
        used += nacre_align_bytes(list[i].size * sizeof(float));
    }
    if (scratch != NULL) p->scratch = scratch + used;
    const size_t rows = p->n.steps * batch;
    const nacre_i8_gemm x = i8_lstm_product(p, rows, 0), h = i8_lstm_product(p, batch, 1);
    return used + nacre_max(nacre_i8_gemm_dynamic_scratch(&x, x.m * x.k, threads),
                            nacre_i8_gemm_dynamic_scratch(&h, h.m * h.k, threads));
}

static void i8_lstm_copy(float *dst, const float *src, size_t n) {
    if (src == NULL) {
        memset(dst, 0, n * sizeof *dst);
    } else {
        memcpy(dst, src, n * sizeof *dst);
    }
}

static float *i8_lstm_y(const i8_lstm *p, size_t t, size_t b) {
    const nacre_rnn *const n = &p->n;
    return p->y + ((t * n->directions + p->dir) * n->batch + b) * n->hidden;
}

// Computes one sequence's step.
static void i8_lstm_chunk(void *job, size_t b, size_t thread) {
    (void)thread;
    const i8_lstm *const p = job;
    const nacre_rnn *const n = &p->n;
    const size_t length = i8_lstm_length(n, b), hidden = n->hidden;
    if (p->step >= length) return;
    const size_t t = p->dir == 1 || n->reverse ? length - 1 - p->step : p->step;
    float *const sums = p->sums + b * p->width;
    const float *const inputs = p->inputs + (t * n->batch + b) * p->width;
    NACRE_SIMD for (size_t i = 0; i < p->width; i++) sums[i] += inputs[i];
    const nacre_f32_rnn_units units = {
        .n = hidden,
        .step = hidden,
        .sums = sums,
        .peepholes = p->peepholes == NULL ? NULL : p->peepholes + p->dir * 3 * hidden,
        .cell = p->cell + b * hidden,
        .state = p->state + b * hidden,
    };
    p->cell_of->lstm(&n->cells[p->dir], &units);
    if (p->y != NULL) memcpy(i8_lstm_y(p, t, b), units.state, hidden * sizeof(float));
}

// Sets the weights of the direction.
static void i8_lstm_weigh(const i8_lstm *p, nacre_i8_gemm *g, size_t which) {
    const i8_lstm_weights *const w = &p->w[which];
    g->b.data = (const uint8_t *)w->matrix.data + p->dir * w->step;
    g->b_zero = w->zero + p->dir * p->width;
    g->col_scale = w->scale + p->dir * p->width;
}

static void i8_lstm_begin(i8_lstm *p) {
    const size_t states = p->n.batch * p->n.hidden, first = p->dir * states;
    i8_lstm_copy(p->bias, p->given_bias == NULL ? NULL : p->given_bias + p->dir * 2 * p->width, p->width);
    for (size_t i = 0; p->given_bias != NULL && i < p->width; i++) {
        p->bias[i] += p->given_bias[(p->dir * 2 + 1) * p->width + i];
    }
    i8_lstm_copy(p->state, p->h0 == NULL ? NULL : p->h0 + first, states);
    i8_lstm_copy(p->cell, p->c0 == NULL ? NULL : p->c0 + first, states);
}

static void i8_lstm_end(const i8_lstm *p) {
    const nacre_rnn *const n = &p->n;
    const size_t states = n->batch * n->hidden, first = p->dir * states;
    for (size_t b = 0; p->y != NULL && b < n->batch; b++) {
        for (size_t t = i8_lstm_length(n, b); t < n->steps; t++) {
            memset(i8_lstm_y(p, t, b), 0, n->hidden * sizeof(float));
        }
    }
    if (p->y_h != NULL) memcpy(p->y_h + first, p->state, states * sizeof(float));
    if (p->y_c != NULL) memcpy(p->y_c + first, p->cell, states * sizeof(float));
}

static void i8_lstm_direction(i8_lstm *p, nacre_team *team) {
    const nacre_rnn *const n = &p->n;
    const size_t states = n->batch * n->hidden;
    nacre_i8_gemm x = i8_lstm_product(p, p->longest * n->batch, 0), h = i8_lstm_product(p, n->batch, 1);
    i8_lstm_begin(p);
    i8_lstm_weigh(p, &x, 0);
    i8_lstm_weigh(p, &h, 1);
    x.add = p->bias;
    x.c = p->inputs;
    h.c = p->sums;
    if (x.m > 0) nacre_i8_gemm_dynamic_run(&x, p->quantize, team, x.m * x.k, p->x, p->scratch);
    for (p->step = 0; p->step < p->longest && !nacre_stopped(team); p->step++) {
        for (size_t b = 0; b < n->batch; b++) {
            // The last state of a sequence is quantised with the others once more, as in ONNX
            // Runtime.
            const size_t at = b * n->hidden;
            i8_lstm_copy(p->active + at, p->step <= i8_lstm_length(n, b) ? p->state + at : NULL, n->hidden);
        }
        nacre_i8_gemm_dynamic_run(&h, p->quantize, team, states, p->active, p->scratch);
        nacre_parallel(states < I8_LSTM_GRAIN ? NULL : team, n->batch, i8_lstm_chunk, p);
    }
    i8_lstm_end(p);
}

// Sets scales and zero points for every column of every direction.
static void i8_lstm_numbers(const nacre_call *c, i8_lstm *p) {
    const nacre_i8_lstm_words *const w = (const void *)c->words;
    const size_t counts[2][2] = {{(size_t)w->w_scales, (size_t)w->w_zeros}, {(size_t)w->r_scales, (size_t)w->r_zeros}};
    const size_t columns = p->n.directions * p->width;
    for (size_t i = 0; i < 2; i++) {
        const float *const scales = nacre_operand(c, I8_LSTM_SCALES + 2 * i);
        const void *const zeros = nacre_operand(c, I8_LSTM_SCALES + 2 * i + 1);
        const nacre_dtype type = p->w[i].matrix.is_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
        for (size_t at = 0; at < columns; at++) {
            p->w[i].scale[at] = scales[at * counts[i][0] / columns];
            p->w[i].zero[at] = quant_integer(type, zeros, at * counts[i][1] / columns);
        }
    }
}

static void i8_lstm_run(const nacre_call *c, int lines) {
    i8_lstm p = i8_lstm_of(c->words, lines);
    if (p.n.batch == 0 || p.n.hidden == 0 || !nacre_rnn_take_lengths(c, &p.n)) return;
    i8_lstm_place(&p, nacre_team_threads(c->team), c->scratch);
    for (size_t b = 0; b < p.n.batch; b++) p.longest = nacre_max(p.longest, i8_lstm_length(&p.n, b));
    p.x = nacre_operand(c, 0);
    for (size_t i = 0; i < 2; i++) p.w[i].matrix.data = nacre_operand(c, 1 + i);
    p.given_bias = nacre_operand(c, 3);
    p.h0 = nacre_operand(c, 5);
    p.c0 = nacre_operand(c, 6);
    p.peepholes = nacre_operand(c, 7);
    p.y = nacre_operand(c, 8);
    p.y_h = nacre_operand(c, 9);
    p.y_c = nacre_operand(c, 10);
    i8_lstm_numbers(c, &p);
    for (p.dir = 0; p.dir < p.n.directions && !nacre_stopped(c->team); p.dir++) i8_lstm_direction(&p, c->team);
}

static void i8_lstm_in_lines(const nacre_call *c) { i8_lstm_run(c, 1); }
static void i8_lstm_by_tiles(const nacre_call *c) { i8_lstm_run(c, 0); }

static int i8_lstm_lines_fits(const nacre_kernel *k, const int64_t *words) {
    (void)k;
    const nacre_i8_lstm_words *const w = (const void *)words;
    return !w->rnn.r_packed && nacre_i8_gemm_few_rows((size_t)w->rnn.batch);
}

static size_t i8_lstm_lines_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    i8_lstm p = i8_lstm_of(words, 1);
    return i8_lstm_place(&p, threads, NULL);
}

static size_t i8_lstm_tiles_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    i8_lstm p = i8_lstm_of(words, 0);
    return i8_lstm_place(&p, threads, NULL);
}

// Returns the bytes of packed weights, or 0 if most of the tiles would be padding.
static size_t i8_lstm_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    enum { MOST_FILLING = 4 };
    (void)k;
    if (operand != 1 && operand != 2) return 0;
    const i8_lstm p = i8_lstm_of(words, 0);
    const size_t depth = p.w[operand - 1].depth, size = nacre_i8_gemm_packed_b(p.gemm, p.width, depth);
    return size > MOST_FILLING * (p.width * depth + 4 * p.width + 64) ? 0 : p.n.directions * size;
}

static void i8_lstm_pack(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)k;
    const i8_lstm p = i8_lstm_of(words, 0);
    const i8_lstm_weights *const w = &p.w[operand - 1];
    const size_t size = nacre_i8_gemm_packed_b(p.gemm, p.width, w->depth);
    for (size_t d = 0; d < p.n.directions; d++) {
        nacre_i8_operand b = w->matrix;
        b.data = (const uint8_t *)src + d * p.width * w->depth;
        nacre_i8_gemm_pack_b(p.gemm, p.width, w->depth, &b, (uint8_t *)dst + d * size);
    }
}

const nacre_entry nacre_i8_lstm_lines_entry = {
    .words = sizeof(nacre_i8_lstm_words) / 8,
    .operands = I8_LSTM_OPERANDS,
    .run = i8_lstm_in_lines,
    .fits = i8_lstm_lines_fits,
    .scratch = i8_lstm_lines_scratch,
    .packed = i8_lstm_packed,
    .pack = i8_lstm_pack,
};
const nacre_entry nacre_i8_lstm_entry = {
    .words = sizeof(nacre_i8_lstm_words) / 8,
    .operands = I8_LSTM_OPERANDS,
    .run = i8_lstm_by_tiles,
    .scratch = i8_lstm_tiles_scratch,
    .packed = i8_lstm_packed,
    .pack = i8_lstm_pack,
};
