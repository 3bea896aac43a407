// core/vec.h for AVX-512.
#ifndef NACRE_CORE_VEC_AVX512_H
#define NACRE_CORE_VEC_AVX512_H

#include "core/vec.h"
#include "core/vexp_avx512.h"

#if NACRE_X86_64
#include <stddef.h>
#include <stdint.h>

#define NACRE_LANES_avx512 16
#define NACRE_BEGIN_avx512 NACRE_TARGET_BEGIN(NACRE_AVX512)
#define NACRE_END_avx512 NACRE_TARGET_END
typedef __m512 nacre_avx512_f;

NACRE_TARGET_BEGIN(NACRE_AVX512)

// nacre_avx512_mask returns ones in the first n lanes.
NACRE_INLINE __mmask16 nacre_avx512_mask(size_t n) { return (__mmask16)((1u << n) - 1); }

NACRE_INLINE __m512 nacre_avx512_load(const float *p) { return _mm512_loadu_ps(p); }
NACRE_INLINE __m512 nacre_avx512_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
NACRE_INLINE __m512 nacre_avx512_load_bf16(const uint16_t *p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)), 16));
}
NACRE_INLINE __m512 nacre_avx512_load_i8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}
NACRE_INLINE void nacre_avx512_store(float *p, __m512 a) { _mm512_storeu_ps(p, a); }
NACRE_INLINE __m512 nacre_avx512_load_n(const float *p, size_t n, __m512 fill) {
    return _mm512_mask_loadu_ps(fill, nacre_avx512_mask(n), p);
}
NACRE_INLINE void nacre_avx512_store_n(float *p, size_t n, __m512 a) {
    _mm512_mask_storeu_ps(p, nacre_avx512_mask(n), a);
}

typedef __m512d nacre_avx512_d;
NACRE_INLINE __m512d nacre_avx512_load_d(const double *p) { return _mm512_loadu_pd(p); }
NACRE_INLINE void nacre_avx512_store_d(double *p, __m512d a) { _mm512_storeu_pd(p, a); }
NACRE_INLINE __m512d nacre_avx512_set1_d(double a) { return _mm512_set1_pd(a); }
NACRE_INLINE __m512d nacre_avx512_fma_d(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }

NACRE_INLINE void nacre_avx512_add_product(__m512 *sum, __m512 a, __m512 b) {
#ifdef NACRE_EMULATED
    *sum = _mm512_fmadd_ps(a, b, *sum);
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
#endif
}
NACRE_INLINE __m512 nacre_avx512_keep(__m512 a) {
#ifndef NACRE_EMULATED
    __asm__("" : "+v"(a));
#endif
    return a;
}
NACRE_INLINE __m512 nacre_avx512_set1(float a) { return _mm512_set1_ps(a); }
NACRE_INLINE __m512 nacre_avx512_add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_sub(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_mul(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_div(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_sqrt(__m512 a) { return _mm512_sqrt_ps(a); }
NACRE_INLINE __m512 nacre_avx512_abs(__m512 a) { return _mm512_abs_ps(a); }
NACRE_INLINE __m512 nacre_avx512_fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
NACRE_INLINE __m512 nacre_avx512_fused(__m512 a, __m512 b, __m512 c) { return nacre_avx512_fma(a, b, c); }
NACRE_INLINE __m512 nacre_avx512_max(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_min(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
NACRE_INLINE __m512 nacre_avx512_maxnan(__m512 a, __m512 b) {
    return _mm512_mask_max_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
}
NACRE_INLINE __m512 nacre_avx512_minnan(__m512 a, __m512 b) {
    return _mm512_mask_min_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
}
NACRE_INLINE __m512 nacre_avx512_neg(__m512 a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
NACRE_INLINE __m512 nacre_avx512_copysign(__m512 a, __m512 sign) {
    return _mm512_or_ps(_mm512_abs_ps(a), _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}
NACRE_INLINE __m512 nacre_avx512_rint(__m512 a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
NACRE_INLINE __m512 nacre_avx512_floor(__m512 a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
NACRE_INLINE __m512 nacre_avx512_ceil(__m512 a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
NACRE_INLINE __mmask16 nacre_avx512_lt(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
NACRE_INLINE unsigned nacre_avx512_bits(__mmask16 m) { return m; }
NACRE_INLINE __m512 nacre_avx512_pick(__mmask16 m, __m512 a, __m512 b) { return _mm512_mask_blend_ps(m, b, a); }
NACRE_INLINE __m512 nacre_avx512_ldexp(__m512 a, __m512 n) { return _mm512_scalef_ps(a, n); }
NACRE_INLINE __m512 nacre_avx512_split(__m512 x, __m512 *e) {
    const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const __mmask16 high = _mm512_cmp_ps_mask(m, _mm512_set1_ps(0x1.6a09e6p+0f), _CMP_GT_OQ);
    const __m512 power = _mm512_getexp_ps(x);
    *e = _mm512_mask_add_ps(power, high, power, _mm512_set1_ps(1.0f));
    return _mm512_mask_mul_ps(m, high, m, _mm512_set1_ps(0.5f));
}
NACRE_INLINE __m512 nacre_avx512_once(__m512 a) {
#ifndef NACRE_EMULATED
    __asm__("" : "+v"(a));  // else compilers read a from memory in each product
#endif
    return a;
}
NACRE_INLINE __m512 nacre_avx512_arrange(__m512 a, const int32_t *from) {
    return _mm512_permutexvar_ps(_mm512_loadu_si512(from), a);
}
NACRE_INLINE __m512 nacre_avx512_exp_below(__m512 a) { return nacre_vexp_below_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_exp_scaled(__m512 a) { return nacre_vexp_below_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_exp_coarse(__m512 a) { return nacre_vexp_below_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_exp_minus(__m512 a) { return nacre_vexp_minus_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_exp_scale(void) { return _mm512_set1_ps(1.0f); }
NACRE_INLINE __m512 nacre_avx512_exp(__m512 a) { return nacre_vexp_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_fall(__m512 a) { return nacre_vfall_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_power_below(__m512 a) { return nacre_vpower_avx512(a); }
NACRE_INLINE __m512 nacre_avx512_sums(const __m512 *v) {
    __m512 x[4], y[2];
    for (size_t i = 0; i < 4; i++) {
        const __m512 a = v[4 * i], b = v[4 * i + 1], c = v[4 * i + 2], d = v[4 * i + 3];
        const __m512d s = _mm512_castps_pd(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
        const __m512d t = _mm512_castps_pd(_mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d));
        x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(s, t)) + _mm512_castpd_ps(_mm512_unpackhi_pd(s, t));
    }
    for (size_t i = 0; i < 2; i++) {
        y[i] = _mm512_shuffle_f32x4(x[2 * i], x[2 * i + 1], _MM_SHUFFLE(2, 0, 2, 0)) +
            _mm512_shuffle_f32x4(x[2 * i], x[2 * i + 1], _MM_SHUFFLE(3, 1, 3, 1));
    }
    return _mm512_shuffle_f32x4(y[0], y[1], _MM_SHUFFLE(2, 0, 2, 0)) +
        _mm512_shuffle_f32x4(y[0], y[1], _MM_SHUFFLE(3, 1, 3, 1));
}
NACRE_INLINE __m512 nacre_avx512_odd(__m512 a, __m512 b) {
    const __m512i i = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, i, b);
}
NACRE_INLINE __m512 nacre_avx512_even(__m512 a, __m512 b) {
    const __m512i i = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, i, b);
}
NACRE_INLINE __m512 nacre_avx512_swap(__m512 a, size_t d) {
    switch (d) {
    case 8: return _mm512_shuffle_f32x4(a, a, _MM_SHUFFLE(1, 0, 3, 2));
    case 4: return _mm512_shuffle_f32x4(a, a, _MM_SHUFFLE(2, 3, 0, 1));
    case 2: return _mm512_permute_ps(a, _MM_SHUFFLE(1, 0, 3, 2));
    default: return _mm512_permute_ps(a, _MM_SHUFFLE(2, 3, 0, 1));
    }
}
NACRE_INLINE float nacre_avx512_first(__m512 a) { return _mm512_cvtss_f32(a); }
NACRE_INLINE __m512 nacre_avx512_gather(const float *p, const int32_t *index) {
    return _mm512_i32gather_ps(_mm512_loadu_si512(index), p, 4);
}

NACRE_TARGET_END
#endif

#endif
