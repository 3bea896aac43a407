// join stores terms (REDUCTION 0), their sum (1), or their sum over the sum of weights (2). If the
// weights sum to 0, the last is NaN. Sums take one workgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint REDUCTION = 0;

layout(std430, binding = 0) readonly buffer Terms { float terms[]; };
layout(std430, binding = 1) readonly buffer Parts { float parts[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint n; };

shared float sums[gl_WorkGroupSize.x];
shared float weights[gl_WorkGroupSize.x];

void main() {
    if (REDUCTION == 0) {
        uint i = flat_index();
        if (i < n) y[i] = STORE(terms[i]);
        return;
    }
    uint id = gl_LocalInvocationID.x;
    float sum = 0.0, weight = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        sum += terms[i];
        weight += parts[i];
    }
    sums[id] = sum;
    weights[id] = weight;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) {
            sums[id] += sums[id + step];
            weights[id] += weights[id + step];
        }
        barrier();
    }
    if (id == 0) y[0] = STORE(REDUCTION == 1 ? sums[0] : weights[0] == 0.0 ? NAN : sums[0] / weights[0]);
}
