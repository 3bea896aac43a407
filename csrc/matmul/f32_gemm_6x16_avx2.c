// 12 of the 16 registers are sums, two hold b, one an element of a.
#include "core/vec_avx2.h"
#include "half/half_avx2.h"
#include "matmul/matmul.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define LANES_N NACRE_LANES_avx2
#define V(name) nacre_avx2_##name
#define K(name) f32_gemm_##name##_avx2
#define HALF nacre_half__avx2
#define MR 6
#define NV 2
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)

#include "matmul/f32_gemm_vector.inc"

const nacre_f32_gemm_impl *nacre_f32_gemm_6x16__avx2(void) { return &K(impl); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K
#undef HALF
#undef MR
#undef NV
#undef ROWS

NACRE_TARGET_END
#endif
