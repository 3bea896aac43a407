// e^x on 16 floats: at most 1 ULP from the exact value, subnormal results
// included; 0 and inf beyond the range, NaN for NaN. To be included outside any
// target region.
#ifndef NACRE_CORE_VEXP_AVX512_H
#define NACRE_CORE_VEXP_AVX512_H

#include "core/x86.h"
#include "core/vexp.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

// With n = round(x / ln 2) and r = x - n ln 2, e^x is 2^n e^r. Returns e^r.
static inline __m512 nacre_vexp_part_avx512(__m512 x, __m512 *n) {
    *n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(NACRE_VEXP_LOG2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(NACRE_VEXP_LN2_HI), x);
    r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(NACRE_VEXP_LN2_LO), r);
    __m512 q = _mm512_fmadd_ps(_mm512_set1_ps(NACRE_VEXP_C7), r, _mm512_set1_ps(NACRE_VEXP_C6));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(NACRE_VEXP_C5));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(NACRE_VEXP_C4));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(NACRE_VEXP_C3));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(NACRE_VEXP_C2));
    return _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(q, r), r, r), _mm512_set1_ps(1.0f));
}

static inline __m512 nacre_vexp_avx512(__m512 x) {
    // The second operand is the result when the first is compared with a NaN.
    x = _mm512_max_ps(_mm512_set1_ps(NACRE_VEXP_LOW), x);
    x = _mm512_min_ps(_mm512_set1_ps(NACRE_VEXP_HIGH), x);
    __m512 n;
    const __m512 p = nacre_vexp_part_avx512(x, &n);
    return _mm512_scalef_ps(p, n);
}

// e^x for x <= 0 or NaN; 0 where it is subnormal, which processors are slow to make.
static inline __m512 nacre_vfall_avx512(__m512 x) {
    const __m512 least = _mm512_set1_ps(NACRE_VEXP_NORMAL);
    __m512 n;
    const __m512 p = nacre_vexp_part_avx512(_mm512_max_ps(least, x), &n);
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), p, n);
}

NACRE_TARGET_END
#endif

#endif
