// The oracle of conversions of 16-bit floats and of codes.
#ifndef NACRE_HALF_HALF_SCALAR_H
#define NACRE_HALF_HALF_SCALAR_H

#include <math.h>

#include "core/simd.h"
#include "half/half.h"

#define CONVERT(function, S, D, expr)                     \
    static inline void function(const void *src, void *dst, size_t n) { \
        const S *const x = src;                           \
        D *const y = dst;                                 \
        NACRE_SIMD for (size_t i = 0; i < n; i++) y[i] = expr(x[i]); \
    }
CONVERT(nacre_f16_to_f32__scalar, uint16_t, float, nacre_f16_to_f32)
CONVERT(nacre_f32_to_f16__scalar, float, uint16_t, nacre_f32_to_f16)
CONVERT(nacre_bf16_to_f32__scalar, uint16_t, float, nacre_bf16_to_f32)
CONVERT(nacre_f32_to_bf16__scalar, float, uint16_t, nacre_f32_to_bf16)
#undef CONVERT

// Sets y[i] to x[i] * scale.
static inline void nacre_codes_to_f32__scalar(const int8_t *x, float scale, float *y, size_t n) {
    NACRE_SIMD for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

// Sets dst[i] to src[i] / scale, rounded, for a block of n floats, and returns the scale.
static inline float nacre_f32_to_codes__scalar(const float *src, int8_t *dst, size_t n) {
    uint32_t top = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, src + i, sizeof bits);
        bits &= 0x7fffffffu;
        top = bits > top ? bits : top;
    }
    const float scale = nacre_half_scale(top);
    for (size_t i = 0; i < n; i++) {
        dst[i] = scale > 0 ? (int8_t)fmaxf(fminf(rintf(src[i] / scale), 127), -127) : 0;
    }
    return scale;
}

NACRE_HALF_CODE(scalar)
NACRE_HALF_DECODE(scalar)

static inline const nacre_half *nacre_half__scalar(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__scalar, nacre_bf16_to_f32__scalar),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__scalar, nacre_f32_to_bf16__scalar),
        .code = nacre_code__scalar,
        .decode = nacre_decode__scalar,
    };
    return &table;
}

#endif
