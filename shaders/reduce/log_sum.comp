#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "result.glsl"
#include "math.glsl"

// log_sum computes the logarithm of the sum of exponentials along the middle axis of
// [outer,n,inner], a lane per workgroup. Exponentials are relative to the largest element, to avoid
// overflow.

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { R y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

shared float part[gl_WorkGroupSize.x];

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x, at = lane / inner * n * inner + lane % inner;
    float top = -INFINITY;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) top = max_nan(top, LOAD(x[at + i * inner]));
    part[id] = top;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] = max_nan(part[id], part[id + step]);
        barrier();
    }
    top = part[0];
    barrier();
    float sum = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = LOAD(x[at + i * inner]);
        sum += v == top ? 1.0 : m_exp(v - top); // infinities too
    }
    part[id] = sum;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] += part[id + step];
        barrier();
    }
    if (id == 0) y[lane] = RESULT(is_nan(top) ? top : top + m_log(part[0]));
}
