// Conversions between element types. float16 and bfloat16 convert to and from
// float32 only; nacre_eltwise_map joins two conversions.
#include <string.h>

#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"
#include "eltwise/types.h"

#define ROW(s, S, d, D, expr) NACRE_CONVERT_LOOP(nacre_##s##_to_##d##__scalar, S, D, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_CONVERSIONS(ROW, t, T, kind) \
    NACRE_CONVERT_LOOP(nacre_bool_to_##t##__scalar, uint8_t, T, x != 0)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
#undef ROW

static inline float nacre_float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t nacre_bits_of_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float nacre_widen_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return nacre_float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return nacre_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    return nacre_float_of_bits(sign | nacre_bits_of_float((float)fraction * 0x1p-24f));
}

static inline uint16_t nacre_narrow_f16(float f) {
    uint32_t bits = nacre_bits_of_float(f);
    const uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more round to infinity
    if (bits < 0x38800000) {                                   // subnormal: 0.5f has the format's smallest step
        return (uint16_t)(sign | (nacre_bits_of_float(nacre_float_of_bits(bits) + 0.5f) - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | (bits - (112u << 23)) >> 13);
}

static inline uint16_t nacre_narrow_bf16(float f) {
    const uint32_t bits = nacre_bits_of_float(f);
    const uint32_t quiet = bits >> 16 | 0x40, near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : near);
}

// Rounds to the neighbour with an odd last bit unless x is exact: rounding that
// again, to at most 22 bits, gives what rounding x once would.
static inline float nacre_narrow_odd(double x) {
    const float f = (float)x;
    if ((double)f == x || x != x) return f;
    const uint32_t bits = nacre_bits_of_float(f);
    return nacre_float_of_bits((fabs((double)f) > fabs(x) ? bits - 1 : bits) | 1);
}

NACRE_CONVERT_LOOP(nacre_f16_to_f32__scalar, uint16_t, float, nacre_widen_f16(x))
NACRE_CONVERT_LOOP(nacre_f32_to_f16__scalar, float, uint16_t, nacre_narrow_f16(x))
NACRE_CONVERT_LOOP(nacre_bf16_to_f32__scalar, uint16_t, float, nacre_float_of_bits((uint32_t)x << 16))
NACRE_CONVERT_LOOP(nacre_f32_to_bf16__scalar, float, uint16_t, nacre_narrow_bf16(x))
NACRE_CONVERT_LOOP(nacre_f64_to_odd__scalar, double, float, nacre_narrow_odd(x))
