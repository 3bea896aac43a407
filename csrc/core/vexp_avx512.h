// e^x on 16 floats, with an error of at most 1 ULP, subnormal results included. It is 0 and inf
// beyond the range, and NaN for NaN. Include outside any target region.
#ifndef NACRE_CORE_VEXP_AVX512_H
#define NACRE_CORE_VEXP_AVX512_H

#include "core/x86.h"
#include "core/vexp.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

// nacre_vexp_root holds 2^(i/16), rounded. nacre_vexp_lack holds the relative errors: how much is
// missing, as a fraction of each.
static const float nacre_vexp_root[16] = {
    0x1.0p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
    0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
    0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
    0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
static const float nacre_vexp_lack[16] = {
    0x0.0p+0f, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f,
    0x1.125002p-25f, 0x1.370be4p-25f, -0x1.0a355p-25f, -0x1.00d8acp-27f,
    0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f, 0x1.a3b5e4p-28f,
    -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f};

// nacre_vexp_part_avx512 returns e^x / 2^floor(n), with n = x / ln 2, rounded to a multiple of
// 1/16. It takes e^r, for r = x - n ln 2, as 1 + r + r^2 (c2 + c3 r), within 2e-9. Adding 1.5 *
// 2^19 rounds, and leaves the sixteenths of n in the lowest bits.
static inline __m512 nacre_vexp_part_avx512(__m512 x, __m512 *n) {
    const __m512 round = _mm512_set1_ps(0x1.8p19f), t = _mm512_fmadd_ps(x, _mm512_set1_ps(NACRE_VEXP_LOG2E), round);
    const __m512i sixteenths = _mm512_castps_si512(t);
    *n = _mm512_sub_ps(t, round);
    __m512 r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(NACRE_VEXP_LN2_HI), x);
    r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(NACRE_VEXP_LN2_LO), r);
    const __m512 q = _mm512_fmadd_ps(_mm512_set1_ps(0x1.555556p-3f), r, _mm512_set1_ps(0x1.00029p-1f));
    const __m512 lack = _mm512_permutexvar_ps(sixteenths, _mm512_loadu_ps(nacre_vexp_lack));
    const __m512 root = _mm512_permutexvar_ps(sixteenths, _mm512_loadu_ps(nacre_vexp_root));
    return _mm512_fmadd_ps(root, _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r), lack), root);
}

// nacre_vexp_below_avx512 returns e^x for x up to NACRE_VEXP_HIGH, or NaN.
static inline __m512 nacre_vexp_below_avx512(__m512 x) {
    // If the first operand of max is compared with a NaN, the result is the second operand.
    __m512 n;
    const __m512 p = nacre_vexp_part_avx512(_mm512_max_ps(_mm512_set1_ps(NACRE_VEXP_LOW), x), &n);
    return _mm512_scalef_ps(p, n);
}

static inline __m512 nacre_vexp_avx512(__m512 x) {
    return nacre_vexp_below_avx512(_mm512_min_ps(_mm512_set1_ps(NACRE_VEXP_HIGH), x));
}

// nacre_vexp_minus_avx512 returns e^-x in fewer steps, with an error of 1 + |x| / 22 ULP. Overflow
// gives +Inf, or -Inf once |x| is so large that r has lost all its bits. For -Inf, r is NaN, and
// NaN scaled by infinity is +Inf.
static inline __m512 nacre_vexp_minus_avx512(__m512 x) {
    x = _mm512_min_ps(_mm512_set1_ps(-NACRE_VEXP_LOW), x);
    const __m512 round = _mm512_set1_ps(0x1.8p19f), t = _mm512_fnmadd_ps(x, _mm512_set1_ps(NACRE_VEXP_LOG2E), round),
        n = _mm512_sub_ps(t, round);
    const __m512 r = _mm512_fnmsub_ps(n, _mm512_set1_ps(0x1.62e430p-1f), x);
    const __m512 q = _mm512_fmadd_ps(_mm512_set1_ps(0x1.555556p-3f), r, _mm512_set1_ps(0x1.00029p-1f));
    const __m512 root = _mm512_permutexvar_ps(_mm512_castps_si512(t), _mm512_loadu_ps(nacre_vexp_root));
    return _mm512_scalef_ps(_mm512_fmadd_ps(root, _mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r), root), n);
}

// nacre_vfall_avx512 returns e^x for x <= 0, or NaN. Subnormal results become 0, because processors
// are slow to compute them.
static inline __m512 nacre_vfall_avx512(__m512 x) {
    const __m512 least = _mm512_set1_ps(NACRE_VEXP_NORMAL);
    __m512 n;
    const __m512 p = nacre_vexp_part_avx512(_mm512_max_ps(least, x), &n);
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), p, n);
}

// nacre_vpower_avx512 returns 2^x for x <= 0, or NaN. Below -125 it is 0, because processors are
// slow to compute subnormal numbers. n is x rounded to a multiple of 1/16 and r = x - n. 2^r is 1 +
// r (c1 + r (c2 + c3 r)) within 2e-9.
static inline __m512 nacre_vpower_avx512(__m512 x) {
    const __m512 round = _mm512_set1_ps(0x1.8p19f), t = _mm512_add_ps(x, round), n = _mm512_sub_ps(t, round),
        r = _mm512_sub_ps(x, n);
    const __m512i sixteenths = _mm512_castps_si512(t);
    const __m512 q = _mm512_fmadd_ps(_mm512_fmadd_ps(_mm512_set1_ps(0x1.c6b08ep-5f), r, _mm512_set1_ps(0x1.ec00ccp-3f)),
                                     r, _mm512_set1_ps(0x1.62e43p-1f));
    const __m512 lack = _mm512_permutexvar_ps(sixteenths, _mm512_loadu_ps(nacre_vexp_lack));
    const __m512 root = _mm512_permutexvar_ps(sixteenths, _mm512_loadu_ps(nacre_vexp_root));
    const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(NACRE_VPOWER_LOW), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(normal, _mm512_fmadd_ps(root, _mm512_fmadd_ps(q, r, lack), root), n);
}

NACRE_TARGET_END
#endif

#endif
