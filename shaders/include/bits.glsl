// Floats as bits: what drivers may lose in arithmetic is tested here on integers.
#ifndef BITS_GLSL
#define BITS_GLSL

#define INFINITY uintBitsToFloat(0x7f800000u)
#define NAN uintBitsToFloat(0x7fc00000u)

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
bool is_zero(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0u; }

// Whether the sign bit is set, that of -0 and of a NaN too.
bool is_negative(float x) { return (floatBitsToUint(x) >> 31) != 0u; }

float magnitude(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu); }
float negated(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u); }
float copy_sign(float x, float sign) {
    return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}

// A NaN is the smaller and the larger of itself and any number.
float min_nan(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b; }
float max_nan(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b; }

// The bits of the nearest bfloat16, ties to even; a NaN stays one.
uint bf16_bits(float x) {
    const uint u = floatBitsToUint(x);
    return is_nan(x) ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}

// The nearest float16, ties to even, as a float32 that converts without rounding: how
// conversions round is the driver's choice.
float rounded_f16(float x) {
    const uint u = floatBitsToUint(x) & 0x7fffffffu;
    if (u >= 0x7f800000u) return x;
    if (u >= 0x477ff000u) return copy_sign(INFINITY, x);
    if (u < 0x38800000u) return copy_sign(roundEven(uintBitsToFloat(u) * 16777216.0) * 5.9604644775390625e-08, x);
    return copy_sign(uintBitsToFloat((u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u), x);
}

float float_of_bf16(uint bits) { return uintBitsToFloat(bits << 16); }

#endif
