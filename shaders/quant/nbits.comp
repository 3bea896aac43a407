// nbits computes products of rows and weights of few bits, decoded in registers. A workgroup
// computes COLUMNS columns of ROWS rows. Its invocations split the k axis, and their sums are added
// in a fixed order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#define BITS_ID 1
#include "nbits.glsl"

layout(constant_id = 2) const uint ROWS = 1;
layout(constant_id = 3) const uint COLUMNS = 4;

#include "rows.glsl"

shared float part[ROWS * gl_WorkGroupSize.x];

void main() {
    uint id = gl_LocalInvocationID.x, parts = gl_WorkGroupSize.x / COLUMNS;
    uint column = id / parts, first = id % parts;
    uint col = gl_WorkGroupID.x * COLUMNS + column, row0 = gl_WorkGroupID.y * ROWS;

    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    for (uint w = first; col < n && w < row_words; w += parts) {
        uint word = codes[col * row_words + w], at = w * PER_WORD, b = at / block;
        float scale = scale_of(col, b), zero = zero_of(col, b);
        for (uint e = 0; e < PER_WORD && at + e < k; e++) {
            float v = (float(word >> e * BITS_PER_CODE & MASK) - zero) * scale;
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                if (row0 + r < m) sums[r] += LOAD(a[(row0 + r) * k + at + e]) * v;
            }
        }
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) part[(r * COLUMNS + column) * parts + first] = sums[r];
    barrier();
    for (uint step = parts / 2; step > 0; step /= 2) {
        for (uint r = 0; r < ROWS && first < step; r++) {
            uint at = (r * COLUMNS + column) * parts + first;
            part[at] += part[at + step];
        }
        barrier();
    }
    if (first != 0 || col >= n) return;
    for (uint r = 0; r < ROWS && row0 + r < m; r++) take_sum(row0 + r, col, part[(r * COLUMNS + column) * parts]);
}
