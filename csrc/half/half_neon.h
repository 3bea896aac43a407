// Conversions of 16-bit floats and of codes with Advanced SIMD.
#ifndef NACRE_HALF_HALF_NEON_H
#define NACRE_HALF_HALF_NEON_H

#include "core/arm.h"
#include "half/half.h"
#include "half/half_scalar.h"

#if NACRE_AARCH64
static inline void nacre_f16_to_f32__neon(const void *px, void *py, size_t n) {
    const __fp16 *x = px;
    float *y = py;
    for (; n >= 4; n -= 4, x += 4, y += 4) vst1q_f32(y, vcvt_f32_f16(vld1_f16(x)));
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static inline void nacre_f32_to_f16__neon(const void *px, void *py, size_t n) {
    const float *x = px;
    __fp16 *y = py;
    for (; n >= 4; n -= 4, x += 4, y += 4) vst1_f16(y, vcvt_f16_f32(vld1q_f32(x)));
    for (size_t i = 0; i < n; i++) y[i] = (__fp16)x[i];
}

static inline void nacre_codes_to_f32__neon(const int8_t *x, float scale, float *y, size_t n) {
    const float32x4_t by = vdupq_n_f32(scale);
    for (; n >= 8; n -= 8, x += 8, y += 8) {
        const int16x8_t wide = vmovl_s8(vld1_s8(x));
        vst1q_f32(y, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), by));
        vst1q_f32(y + 4, vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(wide))), by));
    }
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

static inline float nacre_f32_to_codes__neon(const float *src, int8_t *dst, size_t n) {
    if (n < 8) return nacre_f32_to_codes__scalar(src, dst, n);
    const uint32x4_t sign = vdupq_n_u32(0x7fffffff);
    // The last vectors overlap those before them.
    uint32x4_t t = vandq_u32(vreinterpretq_u32_f32(vld1q_f32(src + n - 4)), sign);
    for (size_t i = 0; i + 4 <= n; i += 4) t = vmaxq_u32(t, vandq_u32(vreinterpretq_u32_f32(vld1q_f32(src + i)), sign));
    const float scale = nacre_half_scale(vmaxvq_u32(t));
    if (!(scale > 0)) {
        memset(dst, 0, n);
        return scale;
    }
    const float32x4_t by = vdupq_n_f32(scale), most = vdupq_n_f32(127), least = vdupq_n_f32(-127);
    for (size_t i = 0; i < n; i += 8) {
        const size_t at = i + 8 <= n ? i : n - 8;
        const float32x4_t x = vdivq_f32(vld1q_f32(src + at), by), y = vdivq_f32(vld1q_f32(src + at + 4), by);
        const int32x4_t c = vcvtnq_s32_f32(vmaxq_f32(vminq_f32(x, most), least)),
            d = vcvtnq_s32_f32(vmaxq_f32(vminq_f32(y, most), least));
        vst1_s8(dst + at, vmovn_s16(vcombine_s16(vmovn_s32(c), vmovn_s32(d))));
    }
    return scale;
}

NACRE_HALF_CODE(neon)
NACRE_HALF_DECODE(neon)

static inline const nacre_half *nacre_half__neon(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__neon, nacre_bf16_to_f32__scalar),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__neon, nacre_f32_to_bf16__scalar),
        .code = nacre_code__neon,
        .decode = nacre_decode__neon,
    };
    return &table;
}
#endif

#endif
