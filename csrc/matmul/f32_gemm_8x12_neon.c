// 24 of the 32 registers are sums, three hold b, the others elements of a.
#include "core/vec_neon.h"
#include "half/half_neon.h"
#include "matmul/matmul.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define LANES_N NACRE_LANES_neon
#define V(name) nacre_neon_##name
#define K(name) f32_gemm_##name##_neon
#define HALF nacre_half__neon
#define MR 8
#define NV 3
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#include "matmul/f32_gemm_vector.inc"

const nacre_f32_gemm_impl *nacre_f32_gemm_8x12__neon(void) { return &K(impl); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K
#undef HALF
#undef MR
#undef NV
#undef ROWS

#endif
