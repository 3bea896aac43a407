// e^x on 8 floats, with an error of at most 1 ULP, subnormal results included. It is 0 and inf
// beyond the range, and NaN for NaN. Include outside any target region.
#ifndef NACRE_CORE_VEXP_AVX2_H
#define NACRE_CORE_VEXP_AVX2_H

#include "core/x86.h"
#include "core/vexp.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

// Adding NACRE_VEXP_QUARTER rounds to a multiple of 1/4 and leaves the number of quarters in the
// lowest bits.
#define NACRE_VEXP_QUARTER 0x1.8p21f

// NACRE_VEXP_BITS is the bits of a power of two as a float.
#define NACRE_VEXP_BITS(power) ((127 + (power)) << 23)

// nacre_vexp_root_avx2 returns the bits of 2^(k + i/4), with 2^(i/4) rounded, for quarters = 4k +
// i: entry i of a table, the same in each 128-bit lane, plus quarters shifted to the exponent. one
// is the bits of 1, or of the factor by which the result is scaled.
static inline __m256i nacre_vexp_root_avx2(__m256i quarters, int one) {
    const int a = one - 0x7c810, b = one - 0xafb0d, c = one - 0x8bb03;
    const __m256 root = _mm256_permutevar_ps(_mm256_castsi256_ps(_mm256_setr_epi32(one, a, b, c, one, a, b, c)),
                                             quarters);
    return _mm256_add_epi32(_mm256_castps_si256(root), _mm256_slli_epi32(quarters, 21));
}

// nacre_vexp_lack_avx2 returns the relative error of the rounded 2^(i/4): how much is missing, as a
// fraction of it.
static inline __m256 nacre_vexp_lack_avx2(__m256i quarters) {
    const float a = 0x1.125002p-25f, b = 0x1.26055cp-26f, c = -0x1.f9c304p-27f;
    return _mm256_permutevar_ps(_mm256_setr_ps(0, a, b, c, 0, a, b, c), quarters);
}

// nacre_vexp_more_avx2 returns e^r - 1 + (first - r) for |r| <= ln 2 / 8. It takes e^r - 1 as r +
// r^2 (1/2 + c3 r + c4 r^2), within 6e-9.
static inline __m256 nacre_vexp_more_avx2(__m256 r, __m256 first) {
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(0x1.5576a4p-5f), r, _mm256_set1_ps(0x1.5571ep-3f));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0.5f));
    return _mm256_fmadd_ps(_mm256_mul_ps(r, r), q, first);
}

// nacre_vexp_part_avx2 computes e^x as 2^n e^r, with n = x / ln 2, rounded to a multiple of 1/4,
// and r = x - n ln 2. It sets root to the bits of 2^n, rounded and scaled by one, and returns e^x /
// 2^n - 1.
static inline __m256 nacre_vexp_part_avx2(__m256 x, int one, __m256i *root) {
    const __m256 round = _mm256_set1_ps(NACRE_VEXP_QUARTER),
        t = _mm256_fmadd_ps(x, _mm256_set1_ps(NACRE_VEXP_LOG2E), round);
    const __m256 n = _mm256_sub_ps(t, round);
    const __m256i quarters = _mm256_castps_si256(t);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(NACRE_VEXP_LN2_HI), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(NACRE_VEXP_LN2_LO), r);
    *root = nacre_vexp_root_avx2(quarters, one);
    return nacre_vexp_more_avx2(r, _mm256_add_ps(r, nacre_vexp_lack_avx2(quarters)));
}

static inline __m256 nacre_vexp_join_avx2(__m256i root, __m256 more) {
    const __m256 whole = _mm256_castsi256_ps(root);
    return _mm256_fmadd_ps(whole, more, whole);
}

// nacre_vexp_below_avx2 returns e^x for x up to NACRE_VEXP_HIGH, or NaN. It multiplies by two
// powers, because n exceeds the exponents of one float.
static inline __m256 nacre_vexp_below_avx2(__m256 x) {
    // If the first operand of max is compared with a NaN, the result is the second operand.
    x = _mm256_max_ps(_mm256_set1_ps(NACRE_VEXP_LOW), x);
    const __m256 scale = _mm256_blendv_ps(_mm256_set1_ps(2.0f), _mm256_set1_ps(0x1p-24f), x);
    __m256i root;
    const __m256 more = nacre_vexp_part_avx2(x, NACRE_VEXP_BITS(127), &root);
    return _mm256_mul_ps(nacre_vexp_join_avx2(_mm256_sub_epi32(root, _mm256_castps_si256(scale)), more), scale);
}

static inline __m256 nacre_vexp_avx2(__m256 x) {
    return nacre_vexp_below_avx2(_mm256_min_ps(_mm256_set1_ps(NACRE_VEXP_HIGH), x));
}

// nacre_vexp_scaled_avx2 returns e^x NACRE_VEXP_SCALE for x up to 44, or NaN. The result is never
// subnormal, so one power suffices.
#define NACRE_VEXP_SCALE 0x1p32f
static inline __m256 nacre_vexp_scaled_avx2(__m256 x) {
    __m256i root;
    const __m256 more = nacre_vexp_part_avx2(_mm256_max_ps(_mm256_set1_ps(NACRE_VEXP_LOW), x), NACRE_VEXP_BITS(32),
                                             &root);
    return nacre_vexp_join_avx2(root, more);
}

// nacre_vexp_coarse_avx2 is nacre_vexp_scaled_avx2 in fewer steps, with an error of 1 + |x| / 22
// ULP.
static inline __m256 nacre_vexp_coarse_avx2(__m256 x) {
    x = _mm256_max_ps(_mm256_set1_ps(NACRE_VEXP_LOW), x);
    const __m256 round = _mm256_set1_ps(NACRE_VEXP_QUARTER),
        t = _mm256_fmadd_ps(x, _mm256_set1_ps(NACRE_VEXP_LOG2E), round);
    const __m256 r = _mm256_fnmadd_ps(_mm256_sub_ps(t, round), _mm256_set1_ps(0x1.62e430p-1f), x);
    return nacre_vexp_join_avx2(nacre_vexp_root_avx2(_mm256_castps_si256(t), NACRE_VEXP_BITS(32)),
                                nacre_vexp_more_avx2(r, r));
}

// nacre_vfall_avx2 returns e^x for x <= 0, or NaN. Subnormal results become 0, because processors
// are slow to compute them.
static inline __m256 nacre_vfall_avx2(__m256 x) {
    __m256i root;
    const __m256 more = nacre_vexp_part_avx2(x, NACRE_VEXP_BITS(0), &root);
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(NACRE_VEXP_NORMAL), _CMP_LT_OQ),
                            nacre_vexp_join_avx2(root, more));
}

// nacre_vpower_avx2 returns 2^x for x <= 0, or NaN. Below -125 it is 0, because processors are slow
// to compute subnormal numbers. n is x rounded to a multiple of 1/4 and r = x - n. 2^r is 1 + r (c1
// + r (c2 + r (c3 + c4 r))) within 5e-9.
static inline __m256 nacre_vpower_avx2(__m256 x) {
    const __m256 round = _mm256_set1_ps(NACRE_VEXP_QUARTER), t = _mm256_add_ps(x, round),
        r = _mm256_sub_ps(x, _mm256_sub_ps(t, round));
    const __m256i quarters = _mm256_castps_si256(t);
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(0x1.3b4c18p-7f), r, _mm256_set1_ps(0x1.c6e71cp-5f));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.ebfbdcp-3f));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.62e42cp-1f));
    const __m256 power = nacre_vexp_join_avx2(nacre_vexp_root_avx2(quarters, NACRE_VEXP_BITS(0)),
                                              _mm256_fmadd_ps(q, r, nacre_vexp_lack_avx2(quarters)));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(NACRE_VPOWER_LOW), _CMP_LT_OQ), power);
}

NACRE_TARGET_END
#endif

#endif
