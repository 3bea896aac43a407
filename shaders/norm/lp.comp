// lp divides lanes of [outer,n,inner] by their norm of order ORDER, 1 or 2, a lane per workgroup.
// If the norm is 0, results are 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint ORDER = 2;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

shared float part[gl_WorkGroupSize.x];

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x;
    uint at = lane / inner * n * inner + lane % inner;
    float sum = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = LOAD(x[at + i * inner]);
        sum += ORDER == 1 ? magnitude(v) : v * v;
    }
    part[id] = sum;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] += part[id + step];
        barrier();
    }
    float norm = ORDER == 1 ? part[0] : sqrt(part[0]);
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) y[at + i * inner] = STORE(norm == 0.0 ? 0.0 : LOAD(x[at + i * inner]) / norm);
}
