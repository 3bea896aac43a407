// Conversions of floats with 5 exponent bits and the given fraction digits: 10 for float16, 2 for
// float8e5m2. A code is in the low bits of an integer. A NaN of float8e5m2 becomes 0x7d.
#ifndef NARROW_GLSL
#define NARROW_GLSL

#include "bits.glsl"

float of_narrow(uint code, uint digits) {
    uint sign = code >> 5 + digits << 31, exponent = code >> digits & 31u, rest = code & (1u << digits) - 1u;
    if (exponent == 31u) return uintBitsToFloat(sign | 0x7f800000u | rest << 23 - digits);
    if (exponent != 0u) return uintBitsToFloat(sign | exponent + 112u << 23 | rest << 23 - digits);
    return copy_sign(float(rest) * uintBitsToFloat(113u - digits << 23), uintBitsToFloat(sign));
}

// narrow_bits returns the nearest code, ties to even.
uint narrow_bits(float x, uint digits) {
    uint sign = floatBitsToUint(x) >> 31 << 5 + digits, u = floatBitsToUint(x) & 0x7fffffffu, drop = 23u - digits;
    if (u > 0x7f800000u) return digits == 2u ? 0x7du : sign | 0x7e00u;
    if (u < 0x38800000u) return sign | uint(roundEven(uintBitsToFloat(u) * uintBitsToFloat(141u + digits << 23)));
    uint code = (u + (1u << drop - 1u) - 1u + (u >> drop & 1u) >> drop) - (112u << digits);
    return sign | min(code, 31u << digits);
}

#endif
