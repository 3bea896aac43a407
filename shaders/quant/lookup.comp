// lookup replaces bytes of rows of n by entries of a table of 256, a byte per invocation. Rows of
// the result begin to bytes apart, from start on.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer X { uint8_t x[]; };
layout(std430, binding = 1) readonly buffer Table { uint8_t table[]; };
layout(std430, binding = 2) writeonly buffer Y { uint8_t y[]; };

layout(push_constant) uniform Words { uint total, n, start, to; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    y[start + i / n * to + i % n] = table[uint(x[i])];
}
