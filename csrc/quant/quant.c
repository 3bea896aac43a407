#include "quant/quant.h"

#include "core/target.h"

// The signature of each op's rows.
typedef nacre_i8_gemm_fn quant_row_i8_gemm;
typedef nacre_f32_quantize_fn quant_row_f32_quantize;
typedef nacre_i8_lookup_fn quant_row_i8_lookup;

#define NACRE_KERNEL(op, variant, isa, function) extern quant_row_##op function;
#include "quant/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel quant_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "quant/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_quant_kernels(size_t *count) {
    *count = sizeof quant_rows / sizeof quant_rows[0];
    return quant_rows;
}
