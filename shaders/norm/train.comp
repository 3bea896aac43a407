// train normalises channels of [batch,channels,inner] by their own mean and variance, a scale and a
// shift, a channel per workgroup. It also writes the statistics, averaged with the given ones and
// alone.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "row.glsl"

layout(constant_id = 3) const uint WANTS = 31; // bit k: operand 5 + k is there

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Scale { T scale[]; };
layout(std430, binding = 2) readonly buffer Shift { T shift[]; };
layout(std430, binding = 3) readonly buffer Mean { T mean[]; };
layout(std430, binding = 4) readonly buffer Variance { T variance[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };
layout(std430, binding = 6) writeonly buffer NextMean { T next_mean[]; };
layout(std430, binding = 7) writeonly buffer NextVariance { T next_variance[]; };
layout(std430, binding = 8) writeonly buffer OwnMean { T own_mean[]; };
layout(std430, binding = 9) writeonly buffer OwnVariance { T own_variance[]; };

layout(push_constant) uniform Words {
    uint batch, channels, inner;
    float epsilon, momentum;
};

uint c; // the channel

// place returns the place of element i of the channel.
uint place(uint i) { return (i / inner * channels + c) * inner + i % inner; }

float element(uint i) { return LOAD(x[place(i)]); }

void main() {
    c = flat_group();
    if (c >= channels) return;
    uint n = batch * inner;
    float middle = mean_of(n), spread = spread_of(middle, n);
    float factor = LOAD(scale[c]) / sqrt(spread + epsilon), last = LOAD(shift[c]);
    for (uint first = 0; (WANTS & 1) != 0 && more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            uint i = index(first, k);
            if (i < n) y[place(i)] = STORE((own[k] - middle) * factor + last);
        }
    }
    if (gl_LocalInvocationID.x != 0) return;
    if ((WANTS & 2) != 0) next_mean[c] = STORE(LOAD(mean[c]) * momentum + middle * (1.0 - momentum));
    if ((WANTS & 4) != 0) next_variance[c] = STORE(LOAD(variance[c]) * momentum + spread * (1.0 - momentum));
    if ((WANTS & 8) != 0) own_mean[c] = STORE(middle);
    if ((WANTS & 16) != 0) own_variance[c] = STORE(spread);
}
