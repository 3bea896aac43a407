// pack rounds x[i] / scale + zero to codes from LEAST to MOST, ties to even, and packs them into
// words, a word per invocation. NaN becomes LEAST.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scale.glsl"
#include "packed.glsl"

layout(constant_id = 1) const int LEAST = 0;
layout(constant_id = 2) const int MOST = 15;
layout(constant_id = 3) const uint BITS = 4;
layout(constant_id = 4) const uint PRECISION = 0; // precision of numbers, scales and quotients

layout(std430, binding = 0) readonly buffer X { S x[]; };
layout(std430, binding = 1) readonly buffer Scales { S scale[]; };
layout(std430, binding = 2) readonly buffer Zeros { uint zero[]; };
layout(std430, binding = 3) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words {
    uint n, axis, inner, block;
    uint per_outer, per_axis, per_inner;
    uint has_zero;
};

void main() {
    const uint each = 32 / BITS;
    uint first = flat_index() * each, word = 0;
    if (first >= n) return;
    for (uint e = 0; e < each && first + e < n; e++) {
        uint at = scale_of(first + e, uvec2(axis, inner), block, uvec3(per_outer, per_axis, per_inner));
        float z = has_zero != 0 ? float(PACKED_OF(zero, at, BITS, LEAST < 0 ? KIND_SIGNED : KIND_UNSIGNED)) : 0.0;
        float q = quotient_in(PRECISION, SCALE(x[first + e]), SCALE(scale[at]));
        float r = is_nan(q) ? float(LEAST) : clamp(roundEven(q) + z, float(LEAST), float(MOST));
        word |= (uint(int(r)) & (1u << BITS) - 1u) << e * BITS;
    }
    y[flat_index()] = word;
}
