// What the parts of f32_rnn share: the plan of a run, and where it keeps what.
#ifndef NACRE_RNN_F32_RNN_H
#define NACRE_RNN_F32_RNN_H

#include <stdbool.h>
#include <string.h>

#include "half/half.h"
#include "rnn/rnn.h"

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

static inline size_t rnn_length(const rnn_plan *p, size_t b) { return p->n->lengths == NULL ? p->n->steps : (size_t)p->n->lengths[b]; }
static inline bool rnn_backward(const nacre_rnn *n, size_t dir) { return dir == 1 || n->reverse; }
static inline bool rnn_resets(const nacre_rnn *n) { return n->gates == 3 && !n->linear; }

// ---- elements of 16 bits ----

static inline void *rnn_at(const rnn_plan *p, const void *base, size_t at) {
    return (char *)(uintptr_t)base + at * (p->o->type == NACRE_FLOAT32 ? sizeof(float) : sizeof(uint16_t));
}

static inline void rnn_get(const rnn_plan *p, const void *base, size_t at, size_t n, float *dst) {
    p->o->gemm->half()->widen[p->o->type](rnn_at(p, base, at), dst, n);
}

static inline void rnn_put(const rnn_plan *p, void *base, size_t at, size_t n, const float *src) {
    p->o->gemm->half()->narrow[p->o->type](src, rnn_at(p, base, at), n);
}

// ---- where things lie ----

// The element of a state as the operands lie.
static inline size_t rnn_state_at(const nacre_rnn *n, size_t dir, size_t b) {
    return (n->batch_first ? b * n->directions + dir : dir * n->batch + b) * n->hidden;
}

static inline size_t rnn_y_at(const nacre_rnn *n, size_t dir, size_t b, size_t t) {
    const size_t row = n->batch_first ? (b * n->steps + t) * n->directions + dir : (t * n->directions + dir) * n->batch + b;
    return row * n->hidden;
}

// dst[i * rows + b] = src[b * hidden + i] for the unit's sequences and i < n.
static inline void rnn_transpose(const rnn_plan *p, size_t rows, size_t n, const float *src, float *dst) {
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

static inline rnn_unit rnn_unit_at(const rnn_plan *p, size_t index) {
    const nacre_rnn *const n = p->n;
    rnn_unit u = {.dir = index / p->units, .b = index % p->units * p->rows};
    u.rows = nacre_min(p->rows, n->batch - u.b);
    u.states = (u.dir * n->batch + u.b) * n->hidden;
    return u;
}

// Runs steps first..last-1, whose sums hold what the inputs add.
void nacre_f32_rnn_run_steps(rnn_plan *p, nacre_team *team);

#endif
