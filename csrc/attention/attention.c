#include "attention/attention.h"

#include "core/levels.h"

extern const nacre_entry nacre_attention_gemv_entry, nacre_attention_tiles_entry, nacre_f64_attention_entry, nacre_rotary_entry,
    nacre_linear_attention_entry, nacre_causal_conv_entry, nacre_attention_lengths_entry, nacre_attention_append_entry,
    nacre_tensor_scatter_entry;

// The functions of rows that have one.
#define ATTENTION_FUNCTIONS(level, ...)                                       \
    extern nacre_f32_online_softmax_fn nacre_f32_online_softmax__##level;     \
    extern nacre_f32_rotary_fn nacre_f32_rotary__##level;                     \
    extern nacre_f32_linear_attention_fn nacre_f32_linear_attention__##level; \
    extern nacre_f32_causal_conv_fn nacre_f32_causal_conv__##level;
ATTENTION_FUNCTIONS(scalar, )
NACRE_LEVELS(ATTENTION_FUNCTIONS, )

static const nacre_kernel attention_kernel_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "attention/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_attention_kernels(size_t *count) {
    *count = sizeof attention_kernel_rows / sizeof attention_kernel_rows[0];
    return attention_kernel_rows;
}
