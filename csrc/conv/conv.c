#include "conv/conv.h"

#include "core/target.h"

// The signature of each op's rows.
typedef nacre_f32_im2col_fn conv_row_f32_im2col;
typedef nacre_f32_taps_fn conv_row_f32_taps;
typedef nacre_conv_fn conv_row_f32_conv, conv_row_f64_conv, conv_row_f32_conv_transpose, conv_row_f64_conv_transpose;

#define NACRE_KERNEL(op, variant, isa, function) extern conv_row_##op function;
#include "conv/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel conv_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "conv/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_conv_kernels(size_t *count) {
    *count = sizeof conv_rows / sizeof conv_rows[0];
    return conv_rows;
}
