// core/vec.h for Advanced SIMD.
#ifndef NACRE_CORE_VEC_NEON_H
#define NACRE_CORE_VEC_NEON_H

#include "core/vec.h"
#include "core/vexp_neon.h"

#if NACRE_AARCH64
#include <stddef.h>
#include <stdint.h>

#define NACRE_NEON_LANES 4
typedef float32x4_t nacre_neon_f;

NACRE_INLINE float32x4_t nacre_neon_load(const float *p) { return vld1q_f32(p); }
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

NACRE_INLINE float32x4_t nacre_neon_keep(float32x4_t a) {
    __asm__("" : "+w"(a));
    return a;
}
NACRE_INLINE float32x4_t nacre_neon_set1(float a) { return vdupq_n_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_add(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_sub(float32x4_t a, float32x4_t b) { return vsubq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_mul(float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_div(float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_sqrt(float32x4_t a) { return vsqrtq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_abs(float32x4_t a) { return vabsq_f32(a); }
NACRE_INLINE float32x4_t nacre_neon_fma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
NACRE_INLINE float32x4_t nacre_neon_max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
NACRE_INLINE float32x4_t nacre_neon_min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
NACRE_INLINE float32x4_t nacre_neon_maxnan(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_minnan(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_exp(float32x4_t a) { return nacre_vexp_neon(a); }
NACRE_INLINE float32x4_t nacre_neon_odd(float32x4_t a, float32x4_t b) { return vuzp2q_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_even(float32x4_t a, float32x4_t b) { return vuzp1q_f32(a, b); }
NACRE_INLINE float32x4_t nacre_neon_swap(float32x4_t a, size_t d) { return d == 2 ? vextq_f32(a, a, 2) : vrev64q_f32(a); }
NACRE_INLINE float nacre_neon_first(float32x4_t a) { return vgetq_lane_f32(a, 0); }
NACRE_INLINE float32x4_t nacre_neon_gather(const float *p, const int32_t *index) {
    const float t[4] = {p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
    return vld1q_f32(t);
}

#endif

#endif
