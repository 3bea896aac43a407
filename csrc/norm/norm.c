#include "norm/norm.h"

#include "core/levels.h"

// The signature of each op's rows.
typedef nacre_f32_softmax_fn norm_row_f32_softmax;
typedef nacre_f32_norm_fn norm_row_f32_layer_norm, norm_row_f32_skip_norm, norm_row_f32_embed_norm, norm_row_f32_group_norm,
    norm_row_f32_batch_norm;
typedef nacre_f32_lrn_fn norm_row_f32_lrn;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern norm_row_##op function;
#include "norm/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel norm_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "norm/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_norm_kernels(size_t *count) {
    *count = sizeof norm_rows / sizeof norm_rows[0];
    return norm_rows;
}
