#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "result.glsl"
#include "math.glsl"
#include "reduce.glsl"

// reduce combines the elements along the middle axis of [outer,n,inner], a lane per workgroup.
// FIRST is a function of reduce.glsl. ROOT is the function of the result over the divisor: 1 the
// square root, 2 the logarithm.

layout(constant_id = 1) const uint FIRST = 0;
layout(constant_id = 2) const uint ROOT = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { R y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; float divisor; };

shared C part[gl_WorkGroupSize.x];

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x;
    uint at = lane / inner * n * inner + lane % inner;
    C acc = initial(FIRST);
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) acc = joined(FIRST, acc, first_of(FIRST, LOAD(x[at + i * inner])));
    part[id] = acc;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] = joined(FIRST, part[id], part[id + step]);
        barrier();
    }
    if (id == 0) y[lane] = RESULT(rooted(ROOT, part[0], divisor));
}
