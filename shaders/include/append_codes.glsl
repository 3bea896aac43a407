// Rows that become codes.
//
// The scale of a block is its largest magnitude / 127 in float32, rounded up. Codes are the nearest
// ones, ties to even. If an element is not finite, the codes of its block are 0 and the scale is NaN.
// All are computed in integers, so they do not depend on how a device divides.
//
// Include it after the push constant size and element(at, h, e), which returns the bits of element e
// of head h of the new row at `at`.
#ifndef APPEND_CODES_GLSL
#define APPEND_CODES_GLSL

// scale_of returns the bits of the scale of a block.
uint scale_of(uint at, uint h, uint block) {
    uint most = 0;
    for (uint e = block * BLOCK; e < min(size, (block + 1) * BLOCK); e++) most = max(most, element(at, h, e) & 0x7fffffffu);
    if (most >= 0x7f800000u) return 0x7fc0u;
    uint exponent = most >> 23, digits = most & 0x7fffffu | (exponent != 0 ? 0x800000u : 0u), bits;
    if (exponent < 8) { // the quotient counts units of 2^-149
        bits = ((digits << max(exponent, 1u)) + 127) / 254;
    } else { // its digits are 24 again
        bool less = digits < 127u << 17;
        bits = (exponent - (less ? 8 : 7) << 23) + ((digits << (less ? 8 : 7)) + 127) / 254;
    }
    return bits + 0xffffu >> 16;
}

// code returns the code of a number, given its bits, in a block of that scale. Both are integers
// times powers of 2, and the quotient is below 127.5.
uint code(uint bits, uint scale) {
    if (scale == 0 || scale >= 0x7f80u) return 0;
    uint exponent = bits >> 23 & 255u, digits = bits & 0x7fffffu | (exponent != 0 ? 0x800000u : 0u);
    uint by = scale & 127u | (scale >> 7 != 0 ? 128u : 0u);
    // The number is digits * 2^exponent, and the scale by * 2^(16+scale's exponent), times 2^-150.
    uint shift = 16 + max(scale >> 7, 1u) - max(exponent, 1u);
    if (shift > 24) return 0;
    by <<= shift;
    uint q = digits / by, rest = digits - q * by;
    q += uint(rest > by - rest || rest == by - rest && (q & 1u) != 0);
    return (bits >> 31 != 0 ? uint(-int(q)) : q) & 255u;
}

// byte_of returns byte e of the codes of head h of a row: a code, or half of a scale. Between calls for
// a row, block and scale hold those of the last byte; block is NO_BLOCK before.
const uint NO_BLOCK = 0xffffffffu;

uint byte_of(uint at, uint h, uint e, inout uint block, inout uint scale) {
    uint of = e < size ? e / BLOCK : (e - size) / 2;
    if (of != block) {
        block = of;
        scale = scale_of(at, h, of);
    }
    return e < size ? code(element(at, h, e), scale) : scale >> (e - size) % 2 * 8 & 255u;
}

#endif
