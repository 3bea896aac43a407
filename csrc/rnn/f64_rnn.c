// Op f64_rnn: networks of doubles, gate by gate. One chunk of work is a sequence in one direction.
#include <math.h>
#include <string.h>

#include "core/target.h"
#include "rnn/rnn.h"

typedef struct {
    size_t n, step;
    double *sums;
    const double *peepholes, *linear;
    double *reset, *cell, *state;
} f64_rnn_units;

#define T double
#define UNITS f64_rnn_units
#define OWN(name) f64_rnn_##name
#include "rnn/plain_rnn_cell.inc"

nacre_f64_rnn_fn nacre_f64_rnn__scalar;

// f64_rnn_operands are the operands of rnn.h.
typedef struct {
    const double *x, *w, *r, *bias, *h0, *c0, *peepholes;
    double *y, *y_h, *y_c;
} f64_rnn_operands;

typedef struct {
    const nacre_rnn *n;
    f64_rnn_operands o;
    double *scratch;
    nacre_team *team;
} f64_rnn_job;

// f64_rnn_sequence is one sequence in one direction.
typedef struct {
    const nacre_rnn *n;
    const double *w, *r, *bias;
    f64_rnn_units units;
} f64_rnn_sequence;

static size_t f64_rnn_per_thread(const nacre_rnn *n) { return (n->gates + 3) * n->hidden; }

// f64_rnn_dot returns the dot product of a and b, in four independent sums.
static double f64_rnn_dot(const double *a, const double *b, size_t n) {
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
    }
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

// f64_rnn_sums sets the sums of gates first..last-1 from input x and from v, the state or reset
// state. If v is NULL, it uses the input only.
static void f64_rnn_sums(const f64_rnn_sequence *q, size_t first, size_t last, const double *x, const double *v) {
    const nacre_rnn *const n = q->n;
    for (size_t i = first * n->hidden; i < last * n->hidden; i++) {
        double sum = f64_rnn_dot(x, q->w + i * n->input, n->input);
        if (v != NULL) sum += f64_rnn_dot(v, q->r + i * n->hidden, n->hidden);
        if (q->bias != NULL) sum += q->bias[i];
        if (q->bias != NULL && v != NULL) sum += q->bias[n->gates * n->hidden + i];
        q->units.sums[i] = sum;
    }
}

static void f64_rnn_step(const f64_rnn_sequence *q, const nacre_rnn_cell *cell, const double *x) {
    const nacre_rnn *const n = q->n;
    const f64_rnn_units *const u = &q->units;
    if (n->gates != 3) {
        f64_rnn_sums(q, 0, n->gates, x, u->state);
        (n->gates == 1 ? f64_rnn_rnn : f64_rnn_lstm)(cell, u);
        return;
    }
    f64_rnn_sums(q, 0, 2, x, u->state);
    if (!n->linear) {
        f64_rnn_gru_reset(cell, u);
        f64_rnn_sums(q, 2, 3, x, u->reset);
        f64_rnn_gru_state(cell, u);
        return;
    }
    f64_rnn_sums(q, 2, 3, x, NULL);
    double *const linear = u->reset;  // the state's part of the hidden gate
    for (size_t i = 0; i < n->hidden; i++) {
        const size_t row = 2 * n->hidden + i;
        linear[i] = f64_rnn_dot(u->state, q->r + row * n->hidden, n->hidden);
        if (q->bias != NULL) linear[i] += q->bias[3 * n->hidden + row];
    }
    f64_rnn_gru_linear(cell, u);
}

static void f64_rnn_copy(double *dst, const double *src, size_t at, size_t n) {
    if (src == NULL) {
        memset(dst, 0, n * sizeof *dst);
    } else {
        memcpy(dst, src + at, n * sizeof *dst);
    }
}

static void f64_rnn_chunk(void *job, size_t chunk, size_t thread) {
    const f64_rnn_job *const j = job;
    const nacre_rnn *const n = j->n;
    const f64_rnn_operands *const o = &j->o;
    const size_t hidden = n->hidden, dir = chunk / n->batch, b = chunk % n->batch, width = n->gates * hidden;
    double *const own = j->scratch + thread * f64_rnn_per_thread(n);
    f64_rnn_sequence q = {n, o->w + dir * width * n->input, o->r + dir * width * hidden, NULL,
                          {.n = hidden, .step = hidden}};
    if (o->bias != NULL) q.bias = o->bias + dir * 2 * width;
    if (o->peepholes != NULL) q.units.peepholes = o->peepholes + dir * 3 * hidden;
    q.units.sums = own;
    q.units.state = own + width;
    q.units.cell = q.units.state + hidden;
    q.units.linear = q.units.reset = q.units.cell + hidden;
    const size_t state = (n->batch_first ? b * n->directions + dir : dir * n->batch + b) * hidden;
    f64_rnn_copy(q.units.state, o->h0, state, hidden);
    f64_rnn_copy(q.units.cell, o->c0, state, hidden);
    const size_t length = n->lengths == NULL ? n->steps : (size_t)n->lengths[b];
    for (size_t i = 0; i < n->steps && !nacre_stopped(j->team); i++) {
        const size_t t = i < length && (dir == 1 || n->reverse) ? length - 1 - i : i;
        const size_t row = n->batch_first ? b * n->steps + t : t * n->batch + b;
        if (i < length) f64_rnn_step(&q, &n->cells[dir], o->x + row * n->input);
        if (o->y == NULL) continue;
        const size_t y = n->batch_first ? row * n->directions + dir : (t * n->directions + dir) * n->batch + b;
        f64_rnn_copy(o->y + y * hidden, i < length ? q.units.state : NULL, 0, hidden);
    }
    if (o->y_h != NULL) memcpy(o->y_h + state, q.units.state, hidden * sizeof(double));
    if (o->y_c != NULL) memcpy(o->y_c + state, q.units.cell, hidden * sizeof(double));
}

void nacre_f64_rnn__scalar(const nacre_call *c, const nacre_rnn *n) {
    f64_rnn_job j = {
        .n = n,
        .o = {
            .x = nacre_operand(c, 0),
            .w = nacre_operand(c, 1),
            .r = nacre_operand(c, 2),
            .bias = nacre_operand(c, 3),
            .h0 = nacre_operand(c, 5),
            .c0 = nacre_operand(c, 6),
            .peepholes = nacre_operand(c, 7),
            .y = nacre_operand(c, 8),
            .y_h = nacre_operand(c, 9),
            .y_c = nacre_operand(c, 10),
        },
        .scratch = c->scratch,
        .team = c->team,
    };
    nacre_parallel(c->team, n->directions * n->batch, f64_rnn_chunk, &j);
}

static void f64_rnn_command(const nacre_call *c) {
    nacre_rnn n = nacre_rnn_of_words(c->words);
    if (nacre_rnn_take_lengths(c, &n)) ((nacre_f64_rnn_fn *)c->kernel->fn)(c, &n);
}

static size_t f64_rnn_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_rnn n = nacre_rnn_of_words(words);
    return threads * f64_rnn_per_thread(&n) * sizeof(double);
}

const nacre_entry nacre_f64_rnn_entry = {
    .words = sizeof(nacre_rnn_words) / 8, .operands = 11, .run = f64_rnn_command, .scratch = f64_rnn_scratch,
};
