// train normalises channels of [batch,channels,inner] by their own mean and variance, a scale and a
// shift, a channel per workgroup. It also writes the statistics, averaged with the given ones and
// alone.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint WANTS = 31; // bit k: operand 5 + k is there

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

shared float part[gl_WorkGroupSize.x];

// sum_of returns the sum of v over the workgroup.
float sum_of(float v, uint id) {
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
    uint c = flat_group(), id = gl_LocalInvocationID.x, n = batch * inner;
    if (c >= channels) return;
    float sum = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) sum += LOAD(x[(i / inner * channels + c) * inner + i % inner]);
    float middle = sum_of(sum, id) / float(n);
    sum = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float d = LOAD(x[(i / inner * channels + c) * inner + i % inner]) - middle;
        sum += d * d;
    }
    float spread = sum_of(sum, id) / float(n), factor = LOAD(scale[c]) / sqrt(spread + epsilon), last = LOAD(shift[c]);
    for (uint i = id; i < n && (WANTS & 1) != 0; i += gl_WorkGroupSize.x) {
        uint at = (i / inner * channels + c) * inner + i % inner;
        y[at] = STORE((LOAD(x[at]) - middle) * factor + last);
    }
    if (id != 0) return;
    if ((WANTS & 2) != 0) next_mean[c] = STORE(LOAD(mean[c]) * momentum + middle * (1.0 - momentum));
    if ((WANTS & 4) != 0) next_variance[c] = STORE(LOAD(variance[c]) * momentum + spread * (1.0 - momentum));
    if ((WANTS & 8) != 0) own_mean[c] = STORE(middle);
    if ((WANTS & 16) != 0) own_variance[c] = STORE(spread);
}
