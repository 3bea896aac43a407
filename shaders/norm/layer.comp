#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

// layer normalises rows of n elements, a row per workgroup. A row is the sum of x, skip and bias.
// It is moved to mean 0, if CENTRED is set, and scaled to variance 1. A scale and a shift per
// element follow. Bits of wants select further results: 0 the mean, 1 the inverse deviation, 2 the
// sum.

layout(constant_id = 1) const uint CENTRED = 1;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Skip { T skip[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Scale { T scale[]; };
layout(std430, binding = 4) readonly buffer Shift { T shift[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };
layout(std430, binding = 6) writeonly buffer Mean { float means[]; };
layout(std430, binding = 7) writeonly buffer Inverse { float inverses[]; };
layout(std430, binding = 8) writeonly buffer Sum { T sums[]; };

layout(push_constant) uniform Words {
    uint rows, n;
    uint skip_rows; // rows of skip; 0 for none
    uint has;       // bit 0: a bias; bit 1: a scale; bit 2: a shift
    uint wants;
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

float element(uint row, uint i) {
    float v = LOAD(x[row * n + i]);
    if (skip_rows > 0) v += LOAD(skip[row % skip_rows * n + i]);
    if ((has & 1) != 0) v += LOAD(bias[i]);
    return v;
}

void main() {
    uint row = flat_group();
    if (row >= rows) return;
    uint id = gl_LocalInvocationID.x;
    float mean = 0;
    if (CENTRED != 0) {
        float sum = 0;
        for (uint i = id; i < n; i += gl_WorkGroupSize.x) sum += element(row, i);
        mean = total(sum) / float(n);
    }
    float squares = 0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = element(row, i) - mean;
        squares += v * v;
    }
    float inverse = 1.0 / sqrt(total(squares) / float(n) + epsilon);
    if (id == 0 && (wants & 1) != 0) means[row] = mean;
    if (id == 0 && (wants & 2) != 0) inverses[row] = inverse;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float e = element(row, i);
        float v = (e - mean) * inverse;
        if ((has & 2) != 0) v *= LOAD(scale[i]);
        if ((has & 4) != 0) v += LOAD(shift[i]);
        if ((wants & 4) != 0) sums[row * n + i] = STORE(e);
        y[row * n + i] = STORE(v);
    }
}
