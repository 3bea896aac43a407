// core/vec.h for Advanced SIMD.
#ifndef NACRE_CORE_VEC_NEON_H
#define NACRE_CORE_VEC_NEON_H

#include "core/vec.h"
#include "core/vexp_neon.h"

#if NACRE_AARCH64
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NACRE_LANES_neon 4
#define NACRE_BEGIN_neon
#define NACRE_END_neon
typedef float32x4_t nacre_neon_f;

NACRE_INLINE float32x4_t nacre_neon_load(const float *p) { return vld1q_f32(p); }
NACRE_INLINE float32x4_t nacre_neon_load_f16(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
NACRE_INLINE float32x4_t nacre_neon_load_bf16(const uint16_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
NACRE_INLINE float32x4_t nacre_neon_load_i8(const int8_t *p) {
    int32_t all;
    memcpy(&all, p, sizeof all);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(all))))));
}
NACRE_INLINE void nacre_neon_store(float *p, float32x4_t a) { vst1q_f32(p, a); }
NACRE_INLINE float32x4_t nacre_neon_load_n(const float *p, size_t n, float32x4_t fill) {
    float t[4];
    vst1q_f32(t, fill);
    for (size_t i = 0; i < n; i++) t[i] = p[i];
    return vld1q_f32(t);
}
NACRE_INLINE void nacre_neon_store_n(float *p, size_t n, float32x4_t a) {
    float t[4];
    vst1q_f32(t, a);
    for (size_t i = 0; i < n; i++) p[i] = t[i];
}

typedef float64x2_t nacre_neon_d;
NACRE_INLINE float64x2_t nacre_neon_load_d(const double *p) { return vld1q_f64(p); }
NACRE_INLINE void nacre_neon_store_d(double *p, float64x2_t a) { vst1q_f64(p, a); }
NACRE_INLINE float64x2_t nacre_neon_set1_d(double a) { return vdupq_n_f64(a); }
NACRE_INLINE float64x2_t nacre_neon_fma_d(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }

NACRE_INLINE void nacre_neon_add_product(float32x4_t *sum, float32x4_t a, float32x4_t b) {
    *sum = vfmaq_f32(*sum, a, b);
}
NACRE_INLINE float32x4_t nacre_neon_keep(float32x4_t a) {
    __asm__("" : "+w"(a));
    return a;
}
NACRE_INLINE float32x4_t nacre_neon_set1(float a) { return vdupq_n_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_add(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_sub(float32x4_t a, float32x4_t b) { return vsubq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_mul(float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_once(float32x4_t a) { return a; }
NACRE_INLINE float32x4_t nacre_neon_div(float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_sqrt(float32x4_t a) { return vsqrtq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_abs(float32x4_t a) { return vabsq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_fma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
NACRE_INLINE float32x4_t nacre_neon_fused(float32x4_t a, float32x4_t b, float32x4_t c) { return nacre_neon_fma(a, b, c); }
NACRE_INLINE float32x4_t nacre_neon_max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
NACRE_INLINE float32x4_t nacre_neon_min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
NACRE_INLINE float32x4_t nacre_neon_maxnan(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_minnan(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_neg(float32x4_t a) { return vnegq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_copysign(float32x4_t a, float32x4_t sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000), sign, a);
}
NACRE_INLINE float32x4_t nacre_neon_rint(float32x4_t a) { return vrndnq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_floor(float32x4_t a) { return vrndmq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_ceil(float32x4_t a) { return vrndpq_f32(a); }
NACRE_INLINE uint32x4_t nacre_neon_lt(float32x4_t a, float32x4_t b) { return vcltq_f32(a, b); }
NACRE_INLINE unsigned nacre_neon_bits(uint32x4_t m) {
    const uint32x4_t each = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(m, each));
}
NACRE_INLINE float32x4_t nacre_neon_pick(uint32x4_t m, float32x4_t a, float32x4_t b) { return vbslq_f32(m, a, b); }

NACRE_INLINE float32x4_t nacre_neon_power(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

// nacre_neon_ldexp multiplies by two powers. Only the second product can leave the range of normal
// numbers, so it alone rounds.
NACRE_INLINE float32x4_t nacre_neon_ldexp(float32x4_t a, float32x4_t n) {
    const int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return a * nacre_neon_power(half) * nacre_neon_power(vsubq_s32(whole, half));
}

NACRE_INLINE float32x4_t nacre_neon_split(float32x4_t x, float32x4_t *e) {
    const uint32x4_t tiny = vcltq_f32(x, vdupq_n_f32(0x1p-126f));
    x = vbslq_f32(tiny, x * vdupq_n_f32(0x1p+24f), x);
    const int32x4_t root = vdupq_n_s32(0x3f3504f3), from = vsubq_s32(vreinterpretq_s32_f32(x), root);
    const int32x4_t fraction = vandq_s32(from, vdupq_n_s32(0x7fffff));
    *e = vcvtq_f32_s32(vshrq_n_s32(from, 23)) - vbslq_f32(tiny, vdupq_n_f32(24.0f), vdupq_n_f32(0.0f));
    return vreinterpretq_f32_s32(vaddq_s32(fraction, root));
}
NACRE_INLINE float32x4_t nacre_neon_arrange(float32x4_t a, const int32_t *from) {
    const int32x4_t bytes = vaddq_s32(vmulq_n_s32(vld1q_s32(from), 0x04040404), vdupq_n_s32(0x03020100));
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(a), vreinterpretq_u8_s32(bytes)));
}
NACRE_INLINE float32x4_t nacre_neon_exp_below(float32x4_t a) { return nacre_vexp_below_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_exp_scaled(float32x4_t a) { return nacre_vexp_below_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_exp_coarse(float32x4_t a) { return nacre_vexp_below_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_exp_scale(void) { return vdupq_n_f32(1.0f); }
NACRE_INLINE float32x4_t nacre_neon_exp(float32x4_t a) { return nacre_vexp_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_fall(float32x4_t a) { return nacre_vfall_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_power_below(float32x4_t a) { return nacre_vpower_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_sums(const float32x4_t *v) {
    return vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3]));
}
NACRE_INLINE float32x4_t nacre_neon_odd(float32x4_t a, float32x4_t b) { return vuzp2q_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_even(float32x4_t a, float32x4_t b) { return vuzp1q_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_swap(float32x4_t a, size_t d) {
    return d == 2 ? vextq_f32(a, a, 2) : vrev64q_f32(a);
}
NACRE_INLINE float nacre_neon_first(float32x4_t a) { return vgetq_lane_f32(a, 0); }
NACRE_INLINE float32x4_t nacre_neon_gather(const float *p, const int32_t *index) {
    const float t[4] = {p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
    return vld1q_f32(t);
}

#endif

#endif
