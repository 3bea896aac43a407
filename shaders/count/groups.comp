// groups describes groups of equal slices: their number, the first slice of each as a word and as
// an integer of 64 bits, the group of every slice, and the size of every group. If SORTED is set,
// groups have the order of slices, otherwise of their first slices, numbered from 1 by first_rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint SORTED = 0;
layout(constant_id = 2) const uint WANTS = 7; // 1 for first slices, 2 for groups, 4 for sizes

layout(std430, binding = 0) readonly buffer Rank { uint rank[]; };
layout(std430, binding = 1) readonly buffer Order { uint order[]; };
layout(std430, binding = 2) readonly buffer Starts { uint starts[]; };
layout(std430, binding = 3) readonly buffer FirstRank { uint first_rank[]; };
layout(std430, binding = 4) writeonly buffer List { uint list[]; };
layout(std430, binding = 5) writeonly buffer Firsts { uvec2 firsts[]; };
layout(std430, binding = 6) writeonly buffer Groups { uvec2 groups[]; };
layout(std430, binding = 7) writeonly buffer Sizes { uvec2 sizes[]; };
layout(std430, binding = 8) writeonly buffer Count { uint count; };

layout(push_constant) uniform Words { uint n; };

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint all = rank[n - 1], group = rank[i] - 1, start = starts[group], first = order[start];
    uint number = SORTED != 0 ? group : first_rank[first] - 1;
    if ((WANTS & 2) != 0) groups[order[i]] = uvec2(number, 0);
    if (i != start) return;
    list[number] = first;
    if ((WANTS & 1) != 0) firsts[number] = uvec2(first, 0);
    if ((WANTS & 4) != 0) sizes[number] = uvec2((group + 1 < all ? starts[group + 1] : n) - start, 0);
    if (i == 0) count = all;
}
