#include "rnn/rnn.h"

#include "core/levels.h"

// The signature of each op's rows.
typedef nacre_f32_rnn_cell_fn rnn_row_f32_rnn, rnn_row_f32_rnn_cell;
typedef nacre_f64_rnn_fn rnn_row_f64_rnn;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern rnn_row_##op function;
#include "rnn/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel rnn_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "rnn/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_rnn_kernels(size_t *count) {
    *count = sizeof rnn_rows / sizeof rnn_rows[0];
    return rnn_rows;
}

nacre_rnn nacre_rnn_of_words(const int64_t *words) {
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
            n.cells[d].f[i] = (nacre_rnn_function){(nacre_rnn_activation)w->kind[at], (float)w->alpha[at], (float)w->beta[at]};
        }
    }
    return n;
}

bool nacre_rnn_take_lengths(const nacre_call *c, nacre_rnn *n) {
    n->lengths = nacre_operand(c, 4);
    for (size_t b = 0; n->lengths != NULL && b < n->batch; b++) {
        if (n->lengths[b] < 0 || (size_t)n->lengths[b] > n->steps) {
            nacre_fail(c, NACRE_FAILED_sequence_length, (int64_t)b, n->lengths[b], (int64_t)n->steps, 0);
            return false;
        }
    }
    return true;
}
