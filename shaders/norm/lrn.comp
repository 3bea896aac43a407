#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math.glsl"

// lrn computes x / (bias + alpha * sum)^beta, an element of [batch,channels,inner] per invocation.
// sum adds the squares of neighbouring channels.

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint n, channels, inner;
    uint before, behind; // channels of a window beside its own
    float alpha, beta, bias;
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint c = i / inner % channels, at = i - c * inner;
    uint end = min(c + behind, channels - 1);
    float sum = 0;
    for (uint k = c - min(c, before); k <= end; k++) {
        float v = LOAD(x[at + k * inner]);
        sum += v * v;
    }
    y[i] = STORE(LOAD(x[i]) * m_exp(-beta * m_log(bias + alpha * sum)));
}
