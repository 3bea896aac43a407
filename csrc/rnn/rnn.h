// Recurrent networks of one layer: RNN, GRU and LSTM, in one or two directions, with the names and
// formulas of the ONNX operators.
#ifndef NACRE_RNN_RNN_H
#define NACRE_RNN_RNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "eltwise/activations.h"
#include "matmul/matmul.h"

const nacre_kernel *nacre_rnn_kernels(size_t *count);

// NACRE_RNN_ACTIVATIONS has the functions of recurrent layers that elementwise kernels lack or
// compute otherwise, as rows of NACRE_ACTIVATIONS.
#define NACRE_RNN_ACTIVATIONS(A, ROW, t, T)                                                                      \
    A(ROW, t, T, affine, p *x + q, V(fma)(p, x, q))                                                              \
    A(ROW, t, T, thresholded_relu, x < p ? 0 : x, V(pick)(V(lt)(x, p), C(0.0f), x))                              \
    A(ROW, t, T, scaled_tanh, p *tanh(q *x), p *M(tanh)(q *x))                                                   \
    A(ROW, t, T, hard_sigmoid, p *x + q < 0 ? 0 : p * x + q > 1 ? 1 : p * x + q,                                 \
      V(min)(C(1.0f), V(max)(C(0.0f), V(fma)(p, x, q))))

// nacre_rnn_activation is a function of one number, with parameters a and b.
typedef enum {
#define NACRE_NUMBER(ROW, t, T, name, plain, vector) NACRE_RNN_##name,
    NACRE_ACTIVATIONS(NACRE_NUMBER, , , )
    NACRE_RNN_ACTIVATIONS(NACRE_NUMBER, , , )
#undef NACRE_NUMBER
} nacre_rnn_activation;

typedef struct {
    nacre_rnn_activation kind;
    float a, b;
} nacre_rnn_function;

// nacre_rnn_cell holds the functions f, g, h of the operator, as many as it has. Sums are clipped
// to -clip..clip before f and g.
typedef struct {
    nacre_rnn_function f[3];
    float clip;         // INFINITY for none
    bool input_forget;  // LSTM's forget gate is 1 - input gate
} nacre_rnn_cell;

// ---- one step of one sequence -------------------------------------------------

// nacre_f32_rnn_units are the operands of n units. A step reads only the pointers that it needs.
typedef struct {
    size_t n;
    size_t step;             // distance between gates, in sums and in peepholes
    float *sums;             // input plus recurrence, per gate
    const float *peepholes;  // LSTM's: input, output and forget gate; NULL for none
    const float *linear;     // GRU's product of the state with the hidden gate's weights
    float *reset;            // GRU's reset state
    float *cell;             // LSTM's cell
    float *state;
} nacre_f32_rnn_units;
typedef void nacre_f32_rnn_step(const nacre_rnn_cell *c, const nacre_f32_rnn_units *u);

// nacre_f32_rnn_cell_impl holds the steps of one level. A kernel row of op f32_rnn_cell has the
// signature nacre_f32_rnn_cell_fn and returns them. s_k and p_k are the sums and peepholes of gate
// k, in the order of the operator's weights. Sums are clipped before f and g.
typedef struct {
    // state = f(s_0)
    nacre_f32_rnn_step *rnn;
    // i = f(s_0 + p_0 cell), forget = f(s_2 + p_2 cell), cell = forget cell + i g(s_3),
    // state = f(s_1 + p_1 cell) h(cell)
    nacre_f32_rnn_step *lstm;
    // sums_0 = f(s_0), reset = f(s_1) state
    nacre_f32_rnn_step *gru_reset;
    // state = (1 - sums_0) g(s_2) + sums_0 state
    nacre_f32_rnn_step *gru_state;
    // z = f(s_0), state = (1 - z) g(s_2 + f(s_1) linear) + z state
    nacre_f32_rnn_step *gru_linear;
} nacre_f32_rnn_cell_impl;
typedef const nacre_f32_rnn_cell_impl *nacre_f32_rnn_cell_fn(void);

// ---- whole networks -------------------------------------------------------------

// nacre_rnn describes a network of any element type. gates is 1 for RNN, 3 for GRU, 4 for LSTM.
// Before its first step, the state of a sequence is the initial one. After its last step, y is 0.
typedef struct {
    size_t gates, steps, batch, input, hidden, directions;
    bool reverse;      // the first direction runs from the end; the second always does
    bool batch_first;  // batch is the first axis of x, y and the states
    bool linear;       // GRU's linear_before_reset
    nacre_rnn_cell cells[2];
    const int32_t *lengths;  // steps of each sequence, 0..steps; NULL if all have `steps`
} nacre_rnn;

// The words of commands f32_rnn, with rows that return the steps of a level, and f64_rnn. The
// operands are the operands of the ONNX operators, without gaps:
//     0 x[steps, batch, input]
//     1 w[directions, gates * hidden, input]
//     2 r[directions, gates * hidden, hidden]
//     3 bias[directions, 2 * gates * hidden]
//     4 lengths[batch], of int32
//     5 h0[directions, batch, hidden]
//     6 c0, like h0
//     7 peepholes[directions, 3 * hidden]
//     8 y[steps, directions, batch, hidden]
//     9 y_h, like h0
//    10 y_c, like h0
// If bias, h0, c0 or peepholes are left out, they are zeros; if lengths is left out, all sequences
// are full. y, y_h and y_c may be left out. A length out of 0..steps ends the run.
//
// All elements have one type: double in f64_rnn, type (a nacre_dtype) in f32_rnn. In f32_rnn,
// w and r may be packed: w as `directions` right operands [input, gates * hidden] of a product of
// floats, r as directions * gates right operands [hidden, hidden].
typedef struct {
    int64_t gates, steps, batch, input, hidden, directions;
    int64_t reverse, batch_first, linear;  // flags
    // Functions f, g, h of the first direction, then of the second.
    int64_t kind[6];
    double alpha[6], beta[6];
    double clip;
    int64_t input_forget;  // flag
    int64_t type;
    int64_t w_packed, r_packed;  // flags
    int64_t gemm;                // part f32_gemm; 0 in f64_rnn
} nacre_rnn_words;

extern const nacre_entry nacre_f32_rnn_entry, nacre_f64_rnn_entry;

// nacre_rnn_of_words returns the network that the words describe, without lengths.
static inline nacre_rnn nacre_rnn_of_words(const int64_t *words) {
    enum { FUNCTIONS = 3 };
    const nacre_rnn_words *const w = (const void *)words;
    nacre_rnn n = {
        .gates = (size_t)w->gates,
        .steps = (size_t)w->steps,
        .batch = (size_t)w->batch,
        .input = (size_t)w->input,
        .hidden = (size_t)w->hidden,
        .directions = (size_t)w->directions,
        .reverse = w->reverse != 0,
        .batch_first = w->batch_first != 0,
        .linear = w->linear != 0,
    };
    for (size_t d = 0; d < 2; d++) {
        n.cells[d].clip = (float)w->clip;
        n.cells[d].input_forget = w->input_forget != 0;
        for (size_t i = 0; i < FUNCTIONS; i++) {
            const size_t at = d * FUNCTIONS + i;
            n.cells[d].f[i] = (nacre_rnn_function){(nacre_rnn_activation)w->kind[at], (float)w->alpha[at],
                                                   (float)w->beta[at]};
        }
    }
    return n;
}

// nacre_rnn_take_lengths sets lengths from operand 4. If one is not in 0..steps, it ends the run
// and returns false.
static inline bool nacre_rnn_take_lengths(const nacre_call *c, nacre_rnn *n) {
    n->lengths = nacre_operand(c, 4);
    for (size_t b = 0; n->lengths != NULL && b < n->batch; b++) {
        if (n->lengths[b] < 0 || (size_t)n->lengths[b] > n->steps) {
            nacre_fail(c, NACRE_FAILED_sequence_length, (int64_t)b, n->lengths[b], (int64_t)n->steps, 0);
            return false;
        }
    }
    return true;
}

// nacre_f64_rnn_fn is the signature of a row of op f64_rnn.
typedef void nacre_f64_rnn_fn(const nacre_call *c, const nacre_rnn *n);

#endif
