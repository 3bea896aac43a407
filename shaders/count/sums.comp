// sums completes running sums: it adds the sum of all pieces before to the sums within a piece.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer Before { uint before[]; };
layout(std430, binding = 1) buffer Sums { uint sums[]; };

layout(push_constant) uniform Words { uint total, piece; };

void main() {
    uint i = flat_index();
    if (i < total) sums[i] += before[i / piece];
}
