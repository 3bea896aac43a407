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
