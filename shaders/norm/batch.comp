#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

// batch normalises channels of [batch,channels,inner] by the mean and variance of each, a scale and
// a shift, an element per invocation.

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Scale { T scale[]; };
layout(std430, binding = 2) readonly buffer Shift { T shift[]; };
layout(std430, binding = 3) readonly buffer Mean { T mean[]; };
layout(std430, binding = 4) readonly buffer Variance { T variance[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint n, channels, inner;
    float epsilon;
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint c = i / inner % channels;
    float factor = LOAD(scale[c]) / sqrt(LOAD(variance[c]) + epsilon);
    y[i] = STORE((LOAD(x[i]) - LOAD(mean[c])) * factor + LOAD(shift[c]));
}
