// points_filter transforms filters [f,c,3,3] to points y[36,f,c], a channel of a filter per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "winograd.glsl"

layout(std430, binding = 0) readonly buffer W { T w[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words { uint total; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    float rows[SIDE * 3], v[SIDE];
    [[unroll]] for (uint c = 0; c < 3; c++) {
        [[unroll]] for (uint r = 0; r < 3; r++) v[r] = LOAD(w[i * 9 + r * 3 + c]);
        points_of_filter(v);
        [[unroll]] for (uint r = 0; r < SIDE; r++) rows[r * 3 + c] = v[r];
    }
    [[unroll]] for (uint r = 0; r < SIDE; r++) {
        [[unroll]] for (uint c = 0; c < 3; c++) v[c] = rows[r * 3 + c];
        points_of_filter(v);
        [[unroll]] for (uint c = 0; c < SIDE; c++) y[(r * SIDE + c) * total + i] = v[c];
    }
}
