// Conversions of 16-bit floats with Advanced SIMD.
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

static inline const nacre_half *nacre_half__neon(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__neon, nacre_bf16_to_f32__scalar),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__neon, nacre_f32_to_bf16__scalar),
    };
    return &table;
}
#endif

#endif
