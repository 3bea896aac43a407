#include "quant/quant.h"

#include "core/levels.h"

// The signature of each op's rows.
typedef nacre_i8_gemm_fn quant_row_i8_gemm, quant_row_i8_gemv, quant_row_i8_conv_gemm, quant_row_i8_conv_depthwise;
typedef nacre_f32_quantize_fn quant_row_f32_quantize, quant_row_f32_dequantize, quant_row_f32_quantize_dynamic, quant_row_i8_pair;
typedef nacre_i8_lookup_fn quant_row_i8_lookup;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern quant_row_##op function;
#define NACRE_COMMAND(op, entry)
#include "quant/kernels.inc"
#undef NACRE_KERNEL
#undef NACRE_COMMAND

static const nacre_kernel quant_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#define NACRE_COMMAND(op, entry) {#op, "scalar", NACRE_ISA_scalar, NULL, entry},
#include "quant/kernels.inc"
#undef NACRE_KERNEL
#undef NACRE_COMMAND
};

const nacre_kernel *nacre_quant_kernels(size_t *count) {
    *count = sizeof quant_rows / sizeof quant_rows[0];
    return quant_rows;
}
