// copy copies x to y, 16 bytes per invocation, to measure the rate of memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer X { uvec4 x[]; };
layout(std430, binding = 1) writeonly buffer Y { uvec4 y[]; };

layout(push_constant) uniform Words { uint n; };

void main() {
    uint i = flat_index();
    if (i < n) y[i] = x[i];
}
