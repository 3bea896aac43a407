// Numbers below the normal ones, which count as 0 on some devices: compared, rounded,
// multiplied and divided by their bits.
#ifndef TINY_GLSL
#define TINY_GLSL

// Integers in the order of numbers, those below the normal ones too, which comparisons of floats
// may take for 0. Zeros of both signs are equal.
int key_of(float x) {
    int bits = floatBitsToInt(x);
    return bits < 0 ? int(0x80000000u) - bits : bits;
}

// Numbers of which one is below the other, and none is a NaN.
bool precedes(float u, float v) { return !is_nan(u) && !is_nan(v) && key_of(u) < key_of(v); }

bool is_tiny(float x) { return (floatBitsToUint(x) & 0x7fffffffu) - 1u < 0x7fffffu; }

// The whole numbers next to one, or it.
float whole_below(float x) { return is_tiny(x) ? -float(is_negative(x)) : floor(x); }
float whole_above(float x) { return is_tiny(x) ? float(!is_negative(x)) : ceil(x); }

// A tiny number as a multiple of 2^-149, which it is.
float multiples(float x) { return copy_sign(float(floatBitsToUint(x) & 0x7fffffu), x); }

// Multiplies a tiny number and one of at least 2^24: the product is a normal number, or infinite.
float large_multiple(float u, float v) {
    precise float z = multiples(u) * 2.6469779601696886e-23 * v * 5.293955920339377e-23; // 2^-75 and 2^-74
    return z;
}

// Of tiny numbers that are not 0, unless the product is tiny itself.
float product(float u, float v) {
    const float LARGE = 16777216.0;
    precise float z = u * v;
    if (is_tiny(u) && magnitude(v) >= LARGE) return large_multiple(u, v);
    if (is_tiny(v) && magnitude(u) >= LARGE) return large_multiple(v, u);
    return z;
}

float quotient(float u, float v) {
    precise float z = u / v;
    if (!is_tiny(v)) return z;
    // The quotient is a normal number, or too large for one.
    if (is_tiny(u)) {
        z = multiples(u) / multiples(v);
        return z;
    }
    z = u * 18889465931478580854784.0 / multiples(v) * 37778931862957161709568.0; // 2^74 and 2^75
    return z;
}

#endif
