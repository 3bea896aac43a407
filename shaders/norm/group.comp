#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "row.glsl"

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

uint at; // the first element of the group

float element(uint i) { return LOAD(x[at + i]); }

void main() {
    uint group = flat_group();
    if (group >= batch * groups) return;
    uint n = channels / groups * inner;
    at = group * n;
    float mean = mean_of(n), inverse = 1.0 / sqrt(spread_of(mean, n) + epsilon);
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            uint i = index(first, k);
            if (i >= n) continue;
            uint channel = group % groups * (channels / groups) + i / inner, p = channel / (channels / params);
            y[at + i] = STORE((own[k] - mean) * inverse * LOAD(scale[p]) + LOAD(shift[p]));
        }
    }
}
