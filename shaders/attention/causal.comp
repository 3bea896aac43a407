// causal is a depthwise convolution of [batch,channels,n]. A window ends at its own element, and
// reads elements before the first from a state [batch,channels,before]. The new state is the last
// before elements of state and x together. An invocation computes an element of either result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math_active.glsl"

layout(constant_id = 1) const uint SILU = 0;
layout(constant_id = 2) const uint BIASED = 0;
layout(constant_id = 3) const uint HAS_PAST = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer W { T w[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Past { T past[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };
layout(std430, binding = 5) writeonly buffer State { T state[]; };

layout(push_constant) uniform Words {
    uint total, channels, n, before, taps, step;
    uint per_row; // results of a channel: n, or n and before
};

// element returns element i of the state followed by x.
float element(uint row, uint i) {
    if (i >= before) return LOAD(x[row * n + i - before]);
    if (HAS_PAST != 0) return LOAD(past[row * before + i]);
    return 0.0;
}

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint row = at / per_row, i = at % per_row;
    if (i >= n) {
        state[row * before + i - n] = STORE(element(row, i));
        return;
    }
    uint channel = row % channels;
    float sum = BIASED != 0 ? LOAD(bias[channel]) : 0.0;
    for (uint j = 0; j < taps; j++) sum += LOAD(w[channel * taps + j]) * element(row, i + j * step);
    y[row * n + i] = STORE(SILU != 0 ? sum * m_sigmoid(sum) : sum);
}
