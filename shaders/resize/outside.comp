// The elements of [outer,m,inner] at places of the middle axis that lie outside are a value,
// of two words; others stay. An element per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"

layout(std430, binding = 0) readonly buffer Outside { uint outside[]; };
layout(std430, binding = 1) writeonly buffer Y { E y[]; };

layout(push_constant) uniform Words { uint total, inner, m, low, high; };

void main() {
    uint at = flat_index();
    if (at >= total || outside[at / inner % m] == 0) return;
#if WIDTH == 8
    y[at] = uvec2(low, high);
#else
    y[at] = E(low);
#endif
}
