// places writes the indices along each axis of the elements at the positions in list, a row of
// integers of 64 bits per axis.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer List { uint list[]; };
layout(std430, binding = 1) readonly buffer Count { uint count; };
layout(std430, binding = 2) writeonly buffer Y { uvec2 y[]; };

layout(push_constant) uniform Words { uint total, rank, extent[8]; };

void main() {
    uint i = flat_index();
    if (i >= min(total, count)) return;
    uint place = list[i];
    for (uint axis = rank; axis-- > 0;) {
        y[axis * count + i] = uvec2(place % extent[axis], 0);
        place /= extent[axis];
    }
}
