// take copies the slices of x [outer,n,inner] along the middle axis that list names, without gaps.
// count is their number.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) readonly buffer List { uint list[]; };
layout(std430, binding = 2) readonly buffer Count { uint count; };
layout(std430, binding = 3) writeonly buffer Y { E y[]; };

layout(push_constant) uniform Words { uint most, outer, n, inner; };

void main() {
    uint i = flat_index(), kept = min(count, most);
    if (i >= outer * kept * inner) return;
    y[i] = x[(i / (kept * inner) * n + list[i / inner % kept]) * inner + i % inner];
}
