// Products of integers.
#include <string.h>

#include "core/simd.h"
#include "matmul/matmul.h"

enum { WIDE_M = 64, WIDE_N = 128, WIDE_K = 256, WIDE_STEP = 4 };
_Static_assert(WIDE_K * WIDE_N == NACRE_WIDE_SCRATCH, "a block of b fills the scratch of a thread");

#define T uint32_t
#define OWN(name) u32_gemm_##name
#define KERNEL nacre_u32_gemm__scalar
#include "matmul/wide_gemm.inc"

#define T uint64_t
#define OWN(name) u64_gemm_##name
#define KERNEL nacre_u64_gemm__scalar
#include "matmul/wide_gemm.inc"
