// starts writes the first position of each group of equal slices in sorted order. Unless SORTED is
// set, it also writes 1 for every slice that is first in its group. rank is the group's number,
// from 1 on.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint SORTED = 0;

layout(std430, binding = 0) readonly buffer Rank { uint rank[]; };
layout(std430, binding = 1) readonly buffer Order { uint order[]; };
layout(std430, binding = 2) writeonly buffer Starts { uint starts[]; };
layout(std430, binding = 3) writeonly buffer Flags { uint flags[]; };

layout(push_constant) uniform Words { uint n; };

void main() {
    uint i = flat_index();
    if (i >= n) return;
    bool head = rank[i] != (i == 0 ? 0 : rank[i - 1]);
    if (head) starts[rank[i] - 1] = i;
    if (SORTED == 0) flags[order[i]] = uint(head);
}
