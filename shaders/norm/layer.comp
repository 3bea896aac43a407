#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "row.glsl"

// layer normalises rows of n elements. A row is the sum of x, skip and bias. It is moved to mean 0,
// if CENTRED is set, and scaled to variance 1. A scale and a shift per element follow. Bits of HAS
// say what is there: 0 the bias, 1 the scale, 2 the shift, 3 skip. Bits of WANTS select further
// results: 0 the mean, 1 the inverse deviation, 2 the sum.

layout(constant_id = 3) const uint CENTRED = 1;
layout(constant_id = 4) const uint HAS = 0;
layout(constant_id = 5) const uint WANTS = 0;

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
    uint skip_rows; // rows of skip
    float epsilon;
};

uint at, skip_at; // the first element of the row, and of its row of skip

float element(uint i) {
    float v = LOAD(x[at + i]);
    if ((HAS & 8) != 0) v += LOAD(skip[skip_at + i]);
    if ((HAS & 1) != 0) v += LOAD(bias[i]);
    return v;
}

void main() {
    uint row = flat_group();
    if (row >= rows) return;
    at = row * n;
    skip_at = (HAS & 8) != 0 ? row % skip_rows * n : 0;
    float mean = 0.0;
    if (CENTRED != 0) mean = mean_of(n);
    else if (KEEP != 0) read(0, n);
    float inverse = 1.0 / sqrt(spread_of(mean, n) + epsilon);
    if (gl_LocalInvocationID.x == 0) {
        if ((WANTS & 1) != 0) means[row] = mean;
        if ((WANTS & 2) != 0) inverses[row] = inverse;
    }
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            uint i = index(first, k);
            if (i >= n) continue;
            float v = (own[k] - mean) * inverse;
            if ((HAS & 2) != 0) v *= LOAD(scale[i]);
            if ((HAS & 4) != 0) v += LOAD(shift[i]);
            if ((WANTS & 4) != 0) sums[at + i] = STORE(own[k]);
            y[at + i] = STORE(v);
        }
    }
}
