// float32 in 4 lanes: the vectors and functions of f32_math.inc. To be included
// outside any target region.
#ifndef NACRE_ELTWISE_F32_MATH_NEON_H
#define NACRE_ELTWISE_F32_MATH_NEON_H

#include <math.h>
#include <stddef.h>

#include "core/arm.h"

#if NACRE_AARCH64

static inline float32x4_t v4_set(float f) { return vdupq_n_f32(f); }
static inline float32x4_t v4_load(const float *p) { return vld1q_f32(p); }
static inline void v4_store(float *p, float32x4_t v) { vst1q_f32(p, v); }
static inline float32x4_t v4_load_part(const float *p, size_t n) {
    float four[4] = {0};
    for (size_t i = 0; i < n; i++) four[i] = p[i];
    return vld1q_f32(four);
}
static inline void v4_store_part(float *p, float32x4_t v, size_t n) {
    float four[4];
    vst1q_f32(four, v);
    for (size_t i = 0; i < n; i++) p[i] = four[i];
}
static inline float32x4_t v4_fma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
static inline float32x4_t v4_min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
static inline float32x4_t v4_max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
static inline float32x4_t v4_sqrt(float32x4_t a) { return vsqrtq_f32(a); }
static inline float32x4_t v4_abs(float32x4_t a) { return vabsq_f32(a); }
static inline float32x4_t v4_neg(float32x4_t a) { return vnegq_f32(a); }
static inline float32x4_t v4_copysign(float32x4_t a, float32x4_t sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000), sign, a);
}
static inline float32x4_t v4_rint(float32x4_t a) { return vrndnq_f32(a); }
static inline float32x4_t v4_floor(float32x4_t a) { return vrndmq_f32(a); }
static inline float32x4_t v4_ceil(float32x4_t a) { return vrndpq_f32(a); }
static inline uint32x4_t v4_lt(float32x4_t a, float32x4_t b) { return vcltq_f32(a, b); }
static inline float32x4_t v4_pick(uint32x4_t m, float32x4_t a, float32x4_t b) { return vbslq_f32(m, a, b); }

static inline float32x4_t v4_power(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

// In two halves, of which only the second product can leave the range of
// normal numbers, so it alone rounds.
static inline float32x4_t v4_ldexp(float32x4_t a, float32x4_t n) {
    const int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return a * v4_power(half) * v4_power(vsubq_s32(whole, half));
}

// x = 2^e m with m from sqrt(1/2) to sqrt(2), for positive x.
static inline float32x4_t v4_split(float32x4_t x, float32x4_t *e) {
    const uint32x4_t tiny = vcltq_f32(x, v4_set(0x1p-126f));
    x = vbslq_f32(tiny, x * v4_set(0x1p+24f), x);
    const int32x4_t root = vdupq_n_s32(0x3f3504f3), from = vsubq_s32(vreinterpretq_s32_f32(x), root);
    const int32x4_t fraction = vandq_s32(from, vdupq_n_s32(0x7fffff));
    *e = vcvtq_f32_s32(vshrq_n_s32(from, 23)) - vbslq_f32(tiny, v4_set(24.0f), v4_set(0.0f));
    return vreinterpretq_f32_s32(vaddq_s32(fraction, root));
}

#define VF float32x4_t
#define LANES 4
#define V(name) v4_##name
#define SUFFIX neon
#include "eltwise/f32_math.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

#endif

#endif
