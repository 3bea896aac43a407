// nearest resamples the middle axis of [outer,n,inner] to [outer,m,inner], an element of the result
// per invocation: y[o,j,i] = x[o,start[j],i].
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) readonly buffer Start { int start[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };

layout(push_constant) uniform Words { uint total, n, inner, m; };

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint i = at % inner, j = at / inner % m, o = at / inner / m;
    y[at] = x[(o * n + uint(start[j])) * inner + i];
}
