// Shared by the files of f32_rnn: the plan of a run and the positions of its elements.
#ifndef NACRE_RNN_F32_RNN_H
#define NACRE_RNN_F32_RNN_H

#include <stdbool.h>
#include <string.h>

#include "half/half.h"
#include "rnn/rnn.h"

// rnn_operands are the operands of rnn.h. w and r are packed; bias and peepholes are floats.
typedef struct {
    const nacre_f32_gemm_impl *gemm;
    const nacre_f32_rnn_cell_impl *impl;
    nacre_dtype type;
    const void *x, *h0, *c0;
    void *y, *y_h, *y_c;
    const float *w, *r, *bias, *peepholes;
    bool pack_w, pack_r;  // w, r must be packed first
} rnn_operands;

typedef struct {
    const nacre_rnn *n;
    const rnn_operands *o;
    nacre_team *team;
    size_t width;          // sums per step of one sequence
    size_t block;          // steps per block
    size_t rows, units;    // sequences per unit; units per direction
    size_t longest;        // steps of the longest sequence
    bool even;             // all sequences have length longest
    size_t packed_w, packed_r;
    size_t gemm_scratch;
    // The block's steps are first..last-1. Their sums are at sums + direction * sums_dir + sequence
    // * sums_batch + slot * sums_step.
    size_t first, last;
    size_t sums_dir, sums_batch, sums_step;
    float *sums, *bias;
    // Arrays [directions, batch, hidden]. Arrays _t hold each unit transposed; steps alternate
    // between the two state_t.
    float *state, *state_t[2], *cell, *reset, *reset_t, *linear;
    float *gemm;
    // Memory for operands converted to the form of rnn_operands.
    float *wide_bias, *wide_peepholes, *wide_w, *wide_r;
    // For a step shared among threads: hidden states of a part, and parts of a unit.
    size_t columns, chunks;
} rnn_plan;

static inline size_t rnn_length(const rnn_plan *p, size_t b) {
    return p->n->lengths == NULL ? p->n->steps : (size_t)p->n->lengths[b];
}
static inline bool rnn_backward(const nacre_rnn *n, size_t dir) { return dir == 1 || n->reverse; }
static inline bool rnn_resets(const nacre_rnn *n) { return n->gates == 3 && !n->linear; }

// ---- elements of 16 bits ----

static inline void *rnn_at(const rnn_plan *p, const void *base, size_t at) {
    return (char *)(uintptr_t)base + at * (p->o->type == NACRE_DTYPE_f32 ? sizeof(float) : sizeof(uint16_t));
}

static inline void rnn_get(const rnn_plan *p, const void *base, size_t at, size_t n, float *dst) {
    p->o->gemm->half()->widen[p->o->type](rnn_at(p, base, at), dst, n);
}

static inline void rnn_put(const rnn_plan *p, void *base, size_t at, size_t n, const float *src) {
    p->o->gemm->half()->narrow[p->o->type](src, rnn_at(p, base, at), n);
}

// ---- positions of elements ----

// rnn_state_at returns the index of the first element of a state in h0, c0, y_h and y_c.
static inline size_t rnn_state_at(const nacre_rnn *n, size_t dir, size_t b) {
    return (n->batch_first ? b * n->directions + dir : dir * n->batch + b) * n->hidden;
}

static inline size_t rnn_y_at(const nacre_rnn *n, size_t dir, size_t b, size_t t) {
    const size_t row = n->batch_first ? (b * n->steps + t) * n->directions + dir
        : (t * n->directions + dir) * n->batch + b;
    return row * n->hidden;
}

// rnn_transpose sets dst[i * rows + b] = src[b * hidden + i] for the unit's sequences and i < n.
static inline void rnn_transpose(const rnn_plan *p, size_t rows, size_t n, const float *src, float *dst) {
    if (rows == 1) {
        memcpy(dst, src, n * sizeof *dst);
    } else {
        p->o->gemm->driver->pack_panel(p->o->gemm->half(), n, rows, src, NACRE_DTYPE_f32, p->n->hidden, 1, rows, dst);
    }
}

// rnn_unit is a few sequences in one direction.
typedef struct {
    size_t dir, b, rows;
    size_t states;  // index of the unit's first state
} rnn_unit;

static inline rnn_unit rnn_unit_at(const rnn_plan *p, size_t index) {
    const nacre_rnn *const n = p->n;
    rnn_unit u = {.dir = index / p->units, .b = index % p->units * p->rows};
    u.rows = nacre_min(p->rows, n->batch - u.b);
    u.states = (u.dir * n->batch + u.b) * n->hidden;
    return u;
}

// nacre_f32_rnn_run_steps runs steps first..last-1, given the inputs' part of their sums.
void nacre_f32_rnn_run_steps(rnn_plan *p, nacre_team *team);

#endif
