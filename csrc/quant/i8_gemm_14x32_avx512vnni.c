// 28 of the 32 registers are sums, two hold b, one four numbers of a row of a.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "core/x86.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512VNNI)

#define OWN(name) i8_gemm_##name##_avx512vnni
#define I __m512i
#define A int8_t
#define B __m512i
#define X __m512i
#define MR 14
#define NV 2
#define LANES 16
#define GROUP 4
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define ZERO() _mm512_setzero_si512()
#define LOAD(b) _mm512_loadu_si512(b)
#define SPREAD(a) i8_spread_avx512vnni(a)
#define STEP_OF(c, x, b) _mm512_dpbusd_epi32(c, b, x)
#define STORE(p, c) _mm512_storeu_si512(p, c)

NACRE_INLINE __m512i i8_spread_avx512vnni(const int8_t *a) {
    int32_t four;
    memcpy(&four, a, sizeof four);
    return _mm512_set1_epi32(four);
}

#include "quant/i8_gemm_parts.inc"
#include "quant/i8_gemm_tile.inc"

const nacre_i8_gemm_impl *nacre_i8_gemm_14x32__avx512vnni(void) {
    static const nacre_i8_gemm_impl impl = {MR, NV * LANES, GROUP, sizeof(A), 1, OWN(tile), OWN(line), OWN(finish), OWN(to_floats), OWN(to_integers)};
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
