// 12 of the 16 registers are sums, two hold b, one two numbers of a row of a.
// Numbers are widened to 16 bits, of which sums of two products cannot overflow:
// products of bytes as they are would be added with saturation.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "core/x86.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define OWN(name) i8_gemm_##name##_avx2
#define I __m256i
#define A int16_t
#define B __m256i
#define X __m256i
#define MR 6
#define NV 2
#define LANES 8
#define GROUP 2
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define ZERO() _mm256_setzero_si256()
#define LOAD(b) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b)))
#define SPREAD(a) i8_spread_avx2(a)
#define STEP_OF(c, x, b) _mm256_add_epi32(c, _mm256_madd_epi16(x, b))
#define STORE(p, c) _mm256_storeu_si256((__m256i *)(p), c)

NACRE_INLINE __m256i i8_spread_avx2(const int16_t *a) {
    int32_t two;
    memcpy(&two, a, sizeof two);
    return _mm256_set1_epi32(two);
}

#include "quant/i8_gemm_parts.inc"
#include "quant/i8_gemm_tile.inc"

const nacre_i8_gemm_impl *nacre_i8_gemm_6x16__avx2(void) {
    static const nacre_i8_gemm_impl impl = {MR, NV * LANES, GROUP, sizeof(A), 0, OWN(tile), OWN(line), OWN(finish), OWN(to_floats), OWN(to_integers)};
    return &impl;
}

NACRE_TARGET_END

#undef OWN
#undef I
#undef A
#undef B
#undef X
#undef MR
#undef NV
#undef LANES
#undef GROUP
#undef ROWS
#undef ZERO
#undef LOAD
#undef SPREAD
#undef STEP_OF
#undef STORE
#endif
