// e^x on 8 floats: at most 1 ULP from the exact value, subnormal results
// included; 0 and inf beyond the range, NaN for NaN. To be included outside any
// target region.
#ifndef NACRE_CORE_VEXP_AVX2_H
#define NACRE_CORE_VEXP_AVX2_H

#include "core/x86.h"
#include "core/vexp.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

// With n = round(x / ln 2) and r = x - n ln 2, e^x is 2^n e^r. Returns e^r.
static inline __m256 nacre_vexp_part_avx2(__m256 x, __m256 *n) {
    *n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(NACRE_VEXP_LOG2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(*n, _mm256_set1_ps(NACRE_VEXP_LN2_HI), x);
    r = _mm256_fnmadd_ps(*n, _mm256_set1_ps(NACRE_VEXP_LN2_LO), r);
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(NACRE_VEXP_C7), r, _mm256_set1_ps(NACRE_VEXP_C6));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VEXP_C5));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VEXP_C4));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VEXP_C3));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VEXP_C2));
    return _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(q, r), r, r), _mm256_set1_ps(1.0f));
}

// The power is applied in two factors, as n reaches beyond the exponents of one float.
// X is at most NACRE_VEXP_HIGH, or NaN.
static inline __m256 nacre_vexp_below_avx2(__m256 x) {
    // The second operand is the result when the first is compared with a NaN.
    x = _mm256_max_ps(_mm256_set1_ps(NACRE_VEXP_LOW), x);
    __m256 n;
    const __m256 p = nacre_vexp_part_avx2(x, &n);
    const __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1), bias = _mm256_set1_epi32(127);
    const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}

static inline __m256 nacre_vexp_avx2(__m256 x) { return nacre_vexp_below_avx2(_mm256_min_ps(_mm256_set1_ps(NACRE_VEXP_HIGH), x)); }

// e^x for x <= 0 or NaN; 0 where it is subnormal, which processors are slow to make.
static inline __m256 nacre_vfall_avx2(__m256 x) {
    const __m256 least = _mm256_set1_ps(NACRE_VEXP_NORMAL);
    __m256 n;
    const __m256 p = nacre_vexp_part_avx2(_mm256_max_ps(least, x), &n);
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), _mm256_mul_ps(p, _mm256_castsi256_ps(power)));
}

// 2^x for x <= 0 or NaN; 0 below -125, as processors are slow to make subnormal numbers.
static inline __m256 nacre_vpower_avx2(__m256 x) {
    const __m256 least = _mm256_set1_ps(NACRE_VPOWER_LOW), r = _mm256_sub_ps(x, _mm256_floor_ps(x));
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(NACRE_VPOWER_C6), r, _mm256_set1_ps(NACRE_VPOWER_C5));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VPOWER_C4));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VPOWER_C3));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VPOWER_C2));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(NACRE_VPOWER_C1));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(1.0f));
    const __m256i n = _mm256_cvtps_epi32(_mm256_floor_ps(_mm256_max_ps(least, x)));
    const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), _mm256_mul_ps(q, power));
}

NACRE_TARGET_END
#endif

#endif
