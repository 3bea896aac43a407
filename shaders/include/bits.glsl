// Tests and conversions of floats by their bits. Drivers may lose NaN, infinities and the sign of 0
// in float arithmetic, so these functions use integers.
#ifndef BITS_GLSL
#define BITS_GLSL

#define INFINITY uintBitsToFloat(0x7f800000u)
#define NAN uintBitsToFloat(0x7fc00000u)

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
bool is_zero(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0u; }

// is_negative reports whether the sign bit is set, also for -0 and NaN.
bool is_negative(float x) { return (floatBitsToUint(x) >> 31) != 0u; }

float magnitude(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu); }
float negated(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u); }
float copy_sign(float x, float sign) {
    return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}

// min_nan and max_nan return NaN if an argument is NaN.
float min_nan(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b; }
float max_nan(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b; }

// bf16_bits returns the bits of the nearest bfloat16, ties to even. A NaN stays a NaN.
uint bf16_bits(float x) {
    const uint u = floatBitsToUint(x);
    return is_nan(x) ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}

// rounded_f16 returns the nearest float16, ties to even, as a float32. Its conversion to float16 is
// then exact; a driver may round other conversions as it likes.
float rounded_f16(float x) {
    const uint u = floatBitsToUint(x) & 0x7fffffffu;
    if (u >= 0x7f800000u) return x;
    if (u >= 0x477ff000u) return copy_sign(INFINITY, x);
    if (u < 0x38800000u) return copy_sign(roundEven(uintBitsToFloat(u) * 16777216.0) * 5.9604644775390625e-08, x);
    return copy_sign(uintBitsToFloat((u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u), x);
}

float float_of_bf16(uint bits) { return uintBitsToFloat(bits << 16); }

#endif
