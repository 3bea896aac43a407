// float32 in 16 lanes: the vectors and functions of f32_math.inc. To be included
// outside any target region.
#ifndef NACRE_ELTWISE_F32_MATH_AVX512_H
#define NACRE_ELTWISE_F32_MATH_AVX512_H

#include <math.h>
#include <stddef.h>

#include "core/x86.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

static inline __m512 v16_set(float f) { return _mm512_set1_ps(f); }
static inline __m512 v16_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v16_store(float *p, __m512 v) { _mm512_storeu_ps(p, v); }
static inline __mmask16 v16_first(size_t n) { return (__mmask16)((1u << n) - 1); }
static inline __m512 v16_load_part(const float *p, size_t n) { return _mm512_maskz_loadu_ps(v16_first(n), p); }
static inline void v16_store_part(float *p, __m512 v, size_t n) { _mm512_mask_storeu_ps(p, v16_first(n), v); }
static inline __m512 v16_fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
static inline __m512 v16_min(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
static inline __m512 v16_max(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
static inline __m512 v16_sqrt(__m512 a) { return _mm512_sqrt_ps(a); }
static inline __m512 v16_abs(__m512 a) { return _mm512_abs_ps(a); }
static inline __m512 v16_neg(__m512 a) { return _mm512_xor_ps(a, v16_set(-0.0f)); }
static inline __m512 v16_copysign(__m512 a, __m512 sign) {
    return _mm512_or_ps(_mm512_abs_ps(a), _mm512_and_ps(sign, v16_set(-0.0f)));
}
static inline __m512 v16_rint(__m512 a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline __m512 v16_floor(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline __m512 v16_ceil(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
static inline __mmask16 v16_lt(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline __m512 v16_pick(__mmask16 m, __m512 a, __m512 b) { return _mm512_mask_blend_ps(m, b, a); }
static inline __m512 v16_ldexp(__m512 a, __m512 n) { return _mm512_scalef_ps(a, n); }

// x = 2^e m with m from sqrt(1/2) to sqrt(2), for positive x.
static inline __m512 v16_split(__m512 x, __m512 *e) {
    const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const __mmask16 high = _mm512_cmp_ps_mask(m, v16_set(0x1.6a09e6p+0f), _CMP_GT_OQ);
    const __m512 power = _mm512_getexp_ps(x);
    *e = _mm512_mask_add_ps(power, high, power, v16_set(1.0f));
    return _mm512_mask_mul_ps(m, high, m, v16_set(0.5f));
}

#define VF __m512
#define LANES 16
#define V(name) v16_##name
#define SUFFIX avx512
#include "eltwise/f32_math.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

NACRE_TARGET_END
#endif

#endif
