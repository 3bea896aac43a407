#include "matmul/matmul.h"

#include "core/target.h"

extern const nacre_entry nacre_f32_gemm_entry, nacre_f32_gemv_dot_entry, nacre_f32_gemv_axpy_entry, nacre_wide_gemm_entry;

// The signature of each op's rows.
typedef nacre_f32_gemm_fn matmul_row_f32_gemm, matmul_row_f32_gemv;
typedef nacre_wide_gemm_fn matmul_row_f64_gemm, matmul_row_u32_gemm, matmul_row_u64_gemm;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern matmul_row_##op function;
#include "matmul/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel matmul_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "matmul/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_matmul_kernels(size_t *count) {
    *count = sizeof matmul_rows / sizeof matmul_rows[0];
    return matmul_rows;
}
