// low packs the low BITS of integers into words, a word per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint BITS = 4;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words { uint total; };

void main() {
    const uint each = 32 / BITS;
    uint first = flat_index() * each, word = 0;
    if (first >= total) return;
    for (uint e = 0; e < each && first + e < total; e++) word |= (x[first + e] & (1u << BITS) - 1u) << e * BITS;
    y[flat_index()] = word;
}
