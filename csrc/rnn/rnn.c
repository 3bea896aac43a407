#include "rnn/rnn.h"

#include "core/target.h"

#define NACRE_KERNEL(op, variant, isa, function) extern nacre_f32_rnn_cell_fn function;
#include "rnn/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel rnn_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "rnn/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_rnn_kernels(size_t *count) {
    *count = sizeof rnn_rows / sizeof rnn_rows[0];
    return rnn_rows;
}
