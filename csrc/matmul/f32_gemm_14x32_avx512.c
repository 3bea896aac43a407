// 28 of the 32 registers are sums, two hold b, one an element of a.
#include "core/vec_avx512.h"
#include "half/half_avx512.h"
#include "matmul/matmul.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define LANES_N NACRE_LANES_avx512
#define V(name) nacre_avx512_##name
#define K(name) f32_gemm_##name##_avx512
#define HALF nacre_half__avx512
#define MR 14
#define NV 2
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)

#include "matmul/f32_gemm_vector.inc"

const nacre_f32_gemm_impl *nacre_f32_gemm_14x32__avx512(void) { return &K(impl); }

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
