// outside sets elements of [outer,m,inner] to a value of two words, an element per invocation. The
// operand outside is nonzero at these positions of the middle axis. Other elements stay.
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
