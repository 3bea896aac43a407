// e^x on 4 floats, with an error of at most 1 ULP, subnormal results included. It is 0 and inf
// beyond the range, and NaN for NaN.
#ifndef NACRE_CORE_VEXP_NEON_H
#define NACRE_CORE_VEXP_NEON_H

#include "core/arm.h"
#include "core/vexp.h"

#if NACRE_AARCH64

// nacre_vexp_part_neon returns e^r, with n = round(x / ln 2) and r = x - n ln 2. e^x is 2^n e^r.
static inline float32x4_t nacre_vexp_part_neon(float32x4_t x, float32x4_t *n) {
    *n = vrndnq_f32(vmulq_f32(x, vdupq_n_f32(NACRE_VEXP_LOG2E)));
    float32x4_t r = vfmsq_f32(x, *n, vdupq_n_f32(NACRE_VEXP_LN2_HI));
    r = vfmsq_f32(r, *n, vdupq_n_f32(NACRE_VEXP_LN2_LO));
    float32x4_t q = vfmaq_f32(vdupq_n_f32(NACRE_VEXP_C6), vdupq_n_f32(NACRE_VEXP_C7), r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VEXP_C5), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VEXP_C4), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VEXP_C3), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VEXP_C2), q, r);
    return vaddq_f32(vfmaq_f32(r, vmulq_f32(q, r), r), vdupq_n_f32(1.0f));
}

// nacre_vexp_below_neon returns e^x for x up to NACRE_VEXP_HIGH, or NaN. It multiplies by two
// powers, because n exceeds the exponents of one float.
static inline float32x4_t nacre_vexp_below_neon(float32x4_t x) {
    x = vmaxq_f32(x, vdupq_n_f32(NACRE_VEXP_LOW));
    float32x4_t n;
    const float32x4_t p = nacre_vexp_part_neon(x, &n);
    const int32x4_t i = vcvtq_s32_f32(n), half = vshrq_n_s32(i, 1), bias = vdupq_n_s32(127);
    const int32x4_t a = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t b = vshlq_n_s32(vaddq_s32(vsubq_s32(i, half), bias), 23);
    return vmulq_f32(vmulq_f32(p, vreinterpretq_f32_s32(a)), vreinterpretq_f32_s32(b));
}

static inline float32x4_t nacre_vexp_neon(float32x4_t x) {
    return nacre_vexp_below_neon(vminq_f32(x, vdupq_n_f32(NACRE_VEXP_HIGH)));
}

// nacre_vfall_neon returns e^x for x <= 0, or NaN. Subnormal results become 0, because processors
// are slow to compute them.
static inline float32x4_t nacre_vfall_neon(float32x4_t x) {
    const float32x4_t least = vdupq_n_f32(NACRE_VEXP_NORMAL);
    float32x4_t n;
    const float32x4_t p = nacre_vexp_part_neon(vmaxq_f32(x, least), &n);
    const int32x4_t power = vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23);
    return vbslq_f32(vcltq_f32(x, least), vdupq_n_f32(0.0f), vmulq_f32(p, vreinterpretq_f32_s32(power)));
}

// nacre_vpower_neon returns 2^x for x <= 0, or NaN. Below -125 it is 0, because processors are slow
// to compute subnormal numbers.
static inline float32x4_t nacre_vpower_neon(float32x4_t x) {
    const float32x4_t least = vdupq_n_f32(NACRE_VPOWER_LOW), r = vsubq_f32(x, vrndmq_f32(x));
    float32x4_t q = vfmaq_f32(vdupq_n_f32(NACRE_VPOWER_C5), vdupq_n_f32(NACRE_VPOWER_C6), r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VPOWER_C4), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VPOWER_C3), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VPOWER_C2), q, r);
    q = vfmaq_f32(vdupq_n_f32(NACRE_VPOWER_C1), q, r);
    q = vfmaq_f32(vdupq_n_f32(1.0f), q, r);
    const int32x4_t n = vcvtq_s32_f32(vrndmq_f32(vmaxq_f32(least, x)));
    const float32x4_t power = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
    return vbslq_f32(vcltq_f32(x, least), vdupq_n_f32(0.0f), vmulq_f32(q, power));
}

#endif

#endif
