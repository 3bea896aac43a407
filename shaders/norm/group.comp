#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

// group normalises groups of channels of [batch,channels,inner] to mean 0 and variance 1, a group
// per workgroup. It then applies a scale and a shift. params is the number of scales and of shifts,
// one per channel or per group.

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Scale { T scale[]; };
layout(std430, binding = 2) readonly buffer Shift { T shift[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint batch, channels, inner, groups, params;
    float epsilon;
};

shared float part[gl_WorkGroupSize.x];

float total(float v) {
    uint id = gl_LocalInvocationID.x;
    barrier();
    part[id] = v;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] += part[id + step];
        barrier();
    }
    return part[0];
}

void main() {
    uint group = flat_group();
    if (group >= batch * groups) return;
    uint id = gl_LocalInvocationID.x;
    uint n = channels / groups * inner, at = group * n;
    float sum = 0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) sum += LOAD(x[at + i]);
    float mean = total(sum) / float(n);
    float squares = 0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = LOAD(x[at + i]) - mean;
        squares += v * v;
    }
    float inverse = 1.0 / sqrt(total(squares) / float(n) + epsilon);
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        uint channel = group % groups * (channels / groups) + i / inner;
        uint p = channel / (channels / params);
        y[at + i] = STORE((LOAD(x[at + i]) - mean) * inverse * LOAD(scale[p]) + LOAD(shift[p]));
    }
}
