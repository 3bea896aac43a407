// float32 in 8 lanes: the vectors and functions of f32_math.inc. To be included
// outside any target region.
#ifndef NACRE_ELTWISE_F32_MATH_AVX2_H
#define NACRE_ELTWISE_F32_MATH_AVX2_H

#include <math.h>
#include <stddef.h>

#include "core/x86.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

static inline __m256 v8_set(float f) { return _mm256_set1_ps(f); }
static inline __m256 v8_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void v8_store(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
static inline __m256i v8_first(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline __m256 v8_load_part(const float *p, size_t n) { return _mm256_maskload_ps(p, v8_first(n)); }
static inline void v8_store_part(float *p, __m256 v, size_t n) { _mm256_maskstore_ps(p, v8_first(n), v); }
static inline __m256 v8_fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
static inline __m256 v8_min(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
static inline __m256 v8_max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
static inline __m256 v8_sqrt(__m256 a) { return _mm256_sqrt_ps(a); }
static inline __m256 v8_abs(__m256 a) { return _mm256_andnot_ps(v8_set(-0.0f), a); }
static inline __m256 v8_neg(__m256 a) { return _mm256_xor_ps(a, v8_set(-0.0f)); }
static inline __m256 v8_copysign(__m256 a, __m256 sign) {
    return _mm256_or_ps(v8_abs(a), _mm256_and_ps(sign, v8_set(-0.0f)));
}
static inline __m256 v8_rint(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline __m256 v8_floor(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline __m256 v8_ceil(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
static inline __m256 v8_lt(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline __m256 v8_pick(__m256 m, __m256 a, __m256 b) { return _mm256_blendv_ps(b, a, m); }

static inline __m256 v8_power(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

// In two halves, of which only the second product can leave the range of
// normal numbers, so it alone rounds.
static inline __m256 v8_ldexp(__m256 a, __m256 n) {
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return a * v8_power(half) * v8_power(_mm256_sub_epi32(whole, half));
}

// x = 2^e m with m from sqrt(1/2) to sqrt(2), for positive x.
static inline __m256 v8_split(__m256 x, __m256 *e) {
    const __m256 tiny = v8_lt(x, v8_set(0x1p-126f));
    x = v8_pick(tiny, x * v8_set(0x1p+24f), x);
    const __m256i root = _mm256_set1_epi32(0x3f3504f3);
    const __m256i from = _mm256_sub_epi32(_mm256_castps_si256(x), root);
    const __m256i fraction = _mm256_and_si256(from, _mm256_set1_epi32(0x7fffff));
    *e = _mm256_cvtepi32_ps(_mm256_srai_epi32(from, 23)) - _mm256_and_ps(tiny, v8_set(24.0f));
    return _mm256_castsi256_ps(_mm256_add_epi32(fraction, root));
}

#define VF __m256
#define LANES 8
#define V(name) v8_##name
#define SUFFIX avx2
#include "eltwise/f32_math.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

NACRE_TARGET_END
#endif

#endif
