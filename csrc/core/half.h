// Conversions between float and the 16-bit float formats, as bits. Rounding is to nearest, ties to
// even. A NaN stays a NaN.
#ifndef NACRE_CORE_HALF_H
#define NACRE_CORE_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/dtype.h"

// nacre_float_size returns the bytes of an element of f32, f16 or bf16.
static inline size_t nacre_float_size(nacre_dtype type) { return type == NACRE_DTYPE_f32 ? 4 : 2; }

static inline float nacre_float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t nacre_bits_of_float(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

// nacre_f16_to_f32 shifts exponent and fraction by 13 bits. The exponent is then short by the
// difference of the biases. The product with 2^112 corrects it exactly, also for subnormal numbers.
static inline float nacre_f16_to_f32(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    uint32_t u = nacre_bits_of_float(nacre_float_of_bits(magnitude) * 0x1p112f);
    u |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return nacre_float_of_bits(u | (uint32_t)(h & 0x8000) << 16);
}

static inline uint16_t nacre_f32_to_f16(float f) {
    uint32_t u = nacre_bits_of_float(f);
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return sign | 0x7e00;
    if (u >= 0x477ff000) return sign | 0x7c00;  // 65520 and above round to infinity
    if (u < 0x38800000) {                       // subnormal results: 0.5 has an ulp of 2^-24
        return (uint16_t)(sign | (nacre_bits_of_float(nacre_float_of_bits(u) + 0.5f) - 0x3f000000));
    }
    u += 0xfff + (u >> 13 & 1);
    return (uint16_t)(sign | (u - (112u << 23)) >> 13);
}

static inline float nacre_bf16_to_f32(uint16_t h) { return nacre_float_of_bits((uint32_t)h << 16); }

static inline uint16_t nacre_f32_to_bf16(float f) {
    const uint32_t u = nacre_bits_of_float(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
