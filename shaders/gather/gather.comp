#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 1
#define FAULT 3
#include "common.glsl"
#include "width.glsl"
#include "index.glsl"

// gather copies slices of [outer,n,inner] that indices name along the middle axis, an element of
// the result [outer,count,inner] per invocation.

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };

layout(push_constant) uniform Words { uint total, n, inner, count; };

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint i = at % inner, k = at / inner % count, o = at / inner / count;
    uint place = place_of(k, n);
    if (place != NOWHERE) y[at] = x[(o * n + place) * inner + i];
}
