// heads sets flags of slices of x [outer,n,inner] in sorted order: 1 if a slice differs from the
// one before, else 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "slices.glsl"

layout(std430, binding = 1) readonly buffer Order { uint order[]; };
layout(std430, binding = 2) writeonly buffer Flags { uint flags[]; };

layout(push_constant) uniform Words { uint n, outer, inner; };

void main() {
    uint i = flat_index();
    if (i < n) flags[i] = uint(i == 0 || compared(order[i - 1], order[i], n, outer, inner) != 0);
}
