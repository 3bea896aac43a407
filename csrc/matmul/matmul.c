#include "matmul/matmul.h"

extern const nacre_entry nacre_f32_gemm_entry, nacre_f32_gemm_some_entry, nacre_f32_gemm_exact_entry,
    nacre_f32_gemv_entry,
                         nacre_f64_gemm_entry, nacre_f64_gemv_entry, nacre_wide_gemm_entry, nacre_int_gemm_entry,
                             nacre_f32_narrow_entry, nacre_f64_narrow_entry;
#if NACRE_NETLIB
extern const nacre_entry nacre_f32_netlib_entry, nacre_f64_netlib_entry;
#endif

// The signature of each op's rows.
typedef nacre_f32_gemm_fn matmul_row_f32_gemm, matmul_row_f32_gemv;
typedef nacre_f64_gemm_fn matmul_row_f64_gemm, matmul_row_f64_gemv;
typedef nacre_narrow_fn matmul_row_f32_narrow, matmul_row_f64_narrow;
typedef nacre_wide_gemm_fn matmul_row_u32_gemm, matmul_row_u64_gemm;
typedef nacre_int_gemm_fn matmul_row_int_gemm;

#define NACRE_FAMILY matmul
#include "core/table.inc"
