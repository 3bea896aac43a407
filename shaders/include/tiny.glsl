// Subnormal numbers are called tiny here. Some devices treat them as 0, so these functions use
// their bits.
#ifndef TINY_GLSL
#define TINY_GLSL

#include "quotient.glsl"

// key_of maps numbers, tiny ones too, to integers in the same order. -0 and 0 have one key. Float
// comparisons may take tiny numbers for 0.
int key_of(float x) {
    int bits = floatBitsToInt(x);
    return bits < 0 ? int(0x80000000u) - bits : bits;
}

// precedes reports whether u < v. It is false if either is NaN.
bool precedes(float u, float v) { return !is_nan(u) && !is_nan(v) && key_of(u) < key_of(v); }

bool is_tiny(float x) { return (floatBitsToUint(x) & 0x7fffffffu) - 1u < 0x7fffffu; }

// whole_below and whole_above return the nearest whole number on one side, or x if it is whole.
float whole_below(float x) { return is_tiny(x) ? -float(is_negative(x)) : floor(x); }
float whole_above(float x) { return is_tiny(x) ? float(!is_negative(x)) : ceil(x); }

// multiples returns a tiny x as a multiple of 2^-149.
float multiples(float x) { return copy_sign(float(floatBitsToUint(x) & 0x7fffffu), x); }

// large_multiple returns u v for tiny u and |v| >= 2^24. The product is normal or infinite.
float large_multiple(float u, float v) {
    precise float z = multiples(u) * 2.6469779601696886e-23 * v * 5.293955920339377e-23; // 2^-75 and 2^-74
    return z;
}

// product returns u v. A device may take a tiny factor for 0 if the other factor is below 2^24.
float product(float u, float v) {
    const float LARGE = 16777216.0;
    precise float z = u * v;
    if (is_tiny(u) && magnitude(v) >= LARGE) return large_multiple(u, v);
    if (is_tiny(v) && magnitude(u) >= LARGE) return large_multiple(v, u);
    return z;
}

float quotient(float u, float v) {
    precise float z = rounded_quotient(u, v);
    if (!is_tiny(v)) return z;
    // The quotient is normal or infinite.
    if (is_tiny(u)) {
        z = multiples(u) / multiples(v);
        return z;
    }
    z = u * 18889465931478580854784.0 / multiples(v) * 37778931862957161709568.0; // 2^74 and 2^75
    return z;
}

#endif
