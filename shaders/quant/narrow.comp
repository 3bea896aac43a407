// narrow rounds x[i] or, if SCALED is set, x[i] / scale + zero to floats of 4 or 8 bits, ties to
// even. It packs them into words, a word per invocation. table maps codes to numbers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scale.glsl"
#include "packed.glsl"

layout(constant_id = 1) const uint BITS = 8;
layout(constant_id = 2) const uint DIGITS = 3; // fraction bits
layout(constant_id = 3) const uint BIAS = 7;   // bias of the exponent
layout(constant_id = 4) const uint MOST = 0x7e; // code of the greatest number
layout(constant_id = 5) const uint OVER = 0x7f; // code of a number beyond MOST
layout(constant_id = 6) const uint NONE = 0x7f; // code of NaN
layout(constant_id = 7) const uint ONE_ZERO = 0; // there is no negative zero
layout(constant_id = 8) const uint SCALED = 0;
layout(constant_id = 9) const uint PRECISION = 0; // precision of numbers, scales and quotients

layout(std430, binding = 0) readonly buffer X { S x[]; };
layout(std430, binding = 1) readonly buffer Scales { S scale[]; };
layout(std430, binding = 2) readonly buffer Zeros { uint zero[]; };
layout(std430, binding = 3) readonly buffer Table { float table[]; };
layout(std430, binding = 4) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words {
    uint n, axis, inner, block;
    uint per_outer, per_axis, per_inner;
    uint has_zero;
};

uint code_of(float v) {
    uint sign = floatBitsToUint(v) >> 31 << BITS - 1, u = floatBitsToUint(v) & 0x7fffffffu;
    if (is_nan(v)) return sign | NONE;
    if (u < 128 - BIAS << 23) { // steps of the least number
        uint m = uint(roundEven(uintBitsToFloat(u) * uintBitsToFloat(126 + BIAS + DIGITS << 23)));
        return ONE_ZERO != 0 && m == 0 ? 0 : sign | m;
    }
    const uint drop = 23 - DIGITS;
    u += (1u << drop - 1) - 1 + (u >> drop & 1u);
    uint m = (u >> drop) - (127 - BIAS << DIGITS);
    return sign | (m <= MOST ? m : OVER);
}

void main() {
    const uint each = 32 / BITS;
    uint first = flat_index() * each, word = 0;
    if (first >= n) return;
    for (uint e = 0; e < each && first + e < n; e++) {
        precise float v = SCALE(x[first + e]);
        if (SCALED != 0) {
            uint at = scale_of(first + e, uvec2(axis, inner), block, uvec3(per_outer, per_axis, per_inner));
            v = quotient_in(PRECISION, v, SCALE(scale[at]));
            if (has_zero != 0) v = v + table[BITS_OF(zero, at, BITS)];
        }
        word |= code_of(v) << e * BITS;
    }
    y[flat_index()] = word;
}
