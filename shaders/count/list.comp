// list writes the positions of ones among flags, in order, and their number. rank is the number of
// ones up to each flag. If a one is at limit or beyond, fault is set to the complement of the first
// such position.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer Rank { uint rank[]; };
layout(std430, binding = 1) writeonly buffer List { uint list[]; };
layout(std430, binding = 2) writeonly buffer Count { uint count; };
layout(std430, binding = 3) buffer Fault { uint fault; };

layout(push_constant) uniform Words { uint total, limit; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint r = rank[i];
    if (r != (i == 0 ? 0 : rank[i - 1])) {
        if (i < limit) list[r - 1] = i;
        else atomicMax(fault, ~i);
    }
    if (i == total - 1) count = r;
}
