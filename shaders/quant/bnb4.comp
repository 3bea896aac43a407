// bnb4 computes products of rows [m,k] and 4-bit weights, y[m,n]. A weight is an entry of table
// times a factor shared by its block. Weights are deep apart along k, and columns step apart. The
// first of two codes in a byte is in the upper bits. A workgroup computes COLUMNS columns of ROWS
// rows. Its invocations split the k axis, and their sums are added in a fixed order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const uint COLUMNS = 4;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer Codes { uint codes[]; };
layout(std430, binding = 2) readonly buffer Factors { T factors[]; };
layout(std430, binding = 3) readonly buffer Table { float table[16]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint m, n, k, block, step, deep; };

shared float part[ROWS * gl_WorkGroupSize.x];

float weight(uint i) {
    uint code = codes[i / 8] >> (i % 8 ^ 1u) * 4 & 15u;
    return table[code] * LOAD(factors[i / block]);
}

void main() {
    uint id = gl_LocalInvocationID.x, parts = gl_WorkGroupSize.x / COLUMNS;
    uint column = id / parts, first = id % parts;
    uint col = gl_WorkGroupID.x * COLUMNS + column, row0 = gl_WorkGroupID.y * ROWS;
    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    for (uint at = first; col < n && at < k; at += parts) {
        float w = weight(col * step + at * deep);
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            if (row0 + r < m) sums[r] += LOAD(a[(row0 + r) * k + at]) * w;
        }
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) part[(r * COLUMNS + column) * parts + first] = sums[r];
    barrier();
    for (uint half_ = parts / 2; half_ > 0; half_ /= 2) {
        for (uint r = 0; r < ROWS && first < half_; r++) {
            uint at = (r * COLUMNS + column) * parts + first;
            part[at] += part[at + half_];
        }
        barrier();
    }
    if (first != 0 || col >= n) return;
    for (uint r = 0; r < ROWS && row0 + r < m; r++) y[(row0 + r) * n + col] = STORE(part[(r * COLUMNS + column) * parts]);
}
