// core/vec.h for AVX2.
#ifndef NACRE_CORE_VEC_AVX2_H
#define NACRE_CORE_VEC_AVX2_H

#include "core/vec.h"
#include "core/vexp_avx2.h"

#if NACRE_X86_64
#include <stddef.h>
#include <stdint.h>

#define NACRE_LANES_avx2 8
#define NACRE_BEGIN_avx2 NACRE_TARGET_BEGIN(NACRE_AVX2)
#define NACRE_END_avx2 NACRE_TARGET_END
typedef __m256 nacre_avx2_f;

NACRE_TARGET_BEGIN(NACRE_AVX2)

// nacre_avx2_mask returns ones in the first n lanes.
NACRE_INLINE __m256i nacre_avx2_mask(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

NACRE_INLINE __m256 nacre_avx2_load(const float *p) { return _mm256_loadu_ps(p); }
NACRE_INLINE __m256 nacre_avx2_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p)); }
NACRE_INLINE __m256 nacre_avx2_load_bf16(const uint16_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 16));
}
NACRE_INLINE __m256 nacre_avx2_load_i8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
}
NACRE_INLINE void nacre_avx2_store(float *p, __m256 a) { _mm256_storeu_ps(p, a); }
NACRE_INLINE __m256 nacre_avx2_load_n(const float *p, size_t n, __m256 fill) {
    const __m256i m = nacre_avx2_mask(n);
    return _mm256_blendv_ps(fill, _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
NACRE_INLINE void nacre_avx2_store_n(float *p, size_t n, __m256 a) { _mm256_maskstore_ps(p, nacre_avx2_mask(n), a); }

typedef __m256d nacre_avx2_d;
NACRE_INLINE __m256d nacre_avx2_load_d(const double *p) { return _mm256_loadu_pd(p); }
NACRE_INLINE void nacre_avx2_store_d(double *p, __m256d a) { _mm256_storeu_pd(p, a); }
NACRE_INLINE __m256d nacre_avx2_set1_d(double a) { return _mm256_set1_pd(a); }
NACRE_INLINE __m256d nacre_avx2_fma_d(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }

NACRE_INLINE void nacre_avx2_add_product(__m256 *sum, __m256 a, __m256 b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}
NACRE_INLINE __m256 nacre_avx2_keep(__m256 a) {
    __asm__("" : "+x"(a));
    return a;
}
NACRE_INLINE __m256 nacre_avx2_set1(float a) { return _mm256_set1_ps(a); }
NACRE_INLINE __m256 nacre_avx2_add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_sub(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_mul(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_once(__m256 a) { return a; }
NACRE_INLINE __m256 nacre_avx2_div(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_sqrt(__m256 a) { return _mm256_sqrt_ps(a); }
NACRE_INLINE __m256 nacre_avx2_abs(__m256 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
NACRE_INLINE __m256 nacre_avx2_fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
NACRE_INLINE __m256 nacre_avx2_fused(__m256 a, __m256 b, __m256 c) { return nacre_avx2_fma(a, b, c); }
NACRE_INLINE __m256 nacre_avx2_max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_min(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
NACRE_INLINE __m256 nacre_avx2_maxnan(__m256 a, __m256 b) {
    return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
NACRE_INLINE __m256 nacre_avx2_minnan(__m256 a, __m256 b) {
    return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
NACRE_INLINE __m256 nacre_avx2_neg(__m256 a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
NACRE_INLINE __m256 nacre_avx2_copysign(__m256 a, __m256 sign) {
    return _mm256_or_ps(nacre_avx2_abs(a), _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
}
NACRE_INLINE __m256 nacre_avx2_rint(__m256 a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
NACRE_INLINE __m256 nacre_avx2_floor(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
NACRE_INLINE __m256 nacre_avx2_ceil(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
NACRE_INLINE __m256 nacre_avx2_lt(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
NACRE_INLINE unsigned nacre_avx2_bits(__m256 m) { return (unsigned)_mm256_movemask_ps(m); }
NACRE_INLINE __m256 nacre_avx2_pick(__m256 m, __m256 a, __m256 b) { return _mm256_blendv_ps(b, a, m); }

NACRE_INLINE __m256 nacre_avx2_power(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

// nacre_avx2_ldexp multiplies by two powers. Only the second product can leave the range of normal
// numbers, so it alone rounds.
NACRE_INLINE __m256 nacre_avx2_ldexp(__m256 a, __m256 n) {
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return a * nacre_avx2_power(half) * nacre_avx2_power(_mm256_sub_epi32(whole, half));
}

NACRE_INLINE __m256 nacre_avx2_split(__m256 x, __m256 *e) {
    const __m256 tiny = nacre_avx2_lt(x, _mm256_set1_ps(0x1p-126f));
    x = nacre_avx2_pick(tiny, x * _mm256_set1_ps(0x1p+24f), x);
    const __m256i root = _mm256_set1_epi32(0x3f3504f3);
    const __m256i from = _mm256_sub_epi32(_mm256_castps_si256(x), root);
    const __m256i fraction = _mm256_and_si256(from, _mm256_set1_epi32(0x7fffff));
    *e = _mm256_cvtepi32_ps(_mm256_srai_epi32(from, 23)) - _mm256_and_ps(tiny, _mm256_set1_ps(24.0f));
    return _mm256_castsi256_ps(_mm256_add_epi32(fraction, root));
}
NACRE_INLINE __m256 nacre_avx2_arrange(__m256 a, const int32_t *from) {
    return _mm256_permutevar8x32_ps(a, _mm256_loadu_si256((const __m256i *)from));
}
NACRE_INLINE __m256 nacre_avx2_exp_below(__m256 a) { return nacre_vexp_below_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_exp_scaled(__m256 a) { return nacre_vexp_scaled_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_exp_coarse(__m256 a) { return nacre_vexp_coarse_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_exp_scale(void) { return _mm256_set1_ps(NACRE_VEXP_SCALE); }
NACRE_INLINE __m256 nacre_avx2_exp(__m256 a) { return nacre_vexp_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_fall(__m256 a) { return nacre_vfall_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_power_below(__m256 a) { return nacre_vpower_avx2(a); }
NACRE_INLINE __m256 nacre_avx2_sums(const __m256 *v) {
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
}
NACRE_INLINE __m256 nacre_avx2_odd(__m256 a, __m256 b) {
    const __m256 s = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(s), _MM_SHUFFLE(3, 1, 2, 0)));
}
NACRE_INLINE __m256 nacre_avx2_even(__m256 a, __m256 b) {
    const __m256 s = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(s), _MM_SHUFFLE(3, 1, 2, 0)));
}
NACRE_INLINE __m256 nacre_avx2_swap(__m256 a, size_t d) {
    switch (d) {
    case 4: return _mm256_permute2f128_ps(a, a, 1);
    case 2: return _mm256_permute_ps(a, _MM_SHUFFLE(1, 0, 3, 2));
    default: return _mm256_permute_ps(a, _MM_SHUFFLE(2, 3, 0, 1));
    }
}
NACRE_INLINE float nacre_avx2_first(__m256 a) { return _mm256_cvtss_f32(a); }
NACRE_INLINE __m256 nacre_avx2_gather(const float *p, const int32_t *index) {
    return _mm256_i32gather_ps(p, _mm256_loadu_si256((const __m256i *)index), 4);
}

NACRE_TARGET_END
#endif

#endif
