#include "attention/attention.h"

#include "core/target.h"

// The type of each op's rows.
typedef nacre_f32_attend_fn attention_row_f32_attend;
typedef nacre_f32_rotate_fn attention_row_f32_rotate;
typedef nacre_f32_recur_fn attention_row_f32_recur;
typedef nacre_f32_causal_conv_fn attention_row_f32_causal_conv;

#define NACRE_KERNEL(op, variant, isa, function) extern attention_row_##op function;
#include "attention/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel attention_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "attention/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_attention_kernels(size_t *count) {
    *count = sizeof attention_rows / sizeof attention_rows[0];
    return attention_rows;
}
