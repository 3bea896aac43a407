// blocks computes products of rows and weights in blocks, decoded in registers:
// y = alpha * a w^T + beta * c. A workgroup computes COLUMNS columns of ROWS rows. Its invocations
// split the k axis by units, and their sums are added in a fixed order. Axes x and z of the grid
// count the columns, axis y the rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "blocks.glsl"

layout(constant_id = 4) const uint ROWS = 1;
layout(constant_id = 5) const uint COLUMNS = 4;

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 2) readonly buffer Add { float c[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint c_row, c_col;
    uint has_c;
    float alpha, beta;
};

shared float part[ROWS * gl_WorkGroupSize.x];

void main() {
    uint id = gl_LocalInvocationID.x, parts = gl_WorkGroupSize.x / COLUMNS;
    uint column = id / parts, first = id % parts, units = k / 32;
    uint col = (gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x) * COLUMNS + column, row0 = gl_WorkGroupID.y * ROWS;

    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    for (uint unit = first; col < n && unit < units; unit += parts) {
        uint b = (col * units + unit) / UNITS * BYTES, u = unit % UNITS;
        for (uint i = 0; i < 8; i++) {
            uint codes = codes_at(b, u, i), at = unit * 32 + i * 4;
            vec2 scales = scales_of(b, u, i / 4);
            vec4 numbers = vec4(number_of(codes & 255u), number_of(codes >> 8 & 255u), number_of(codes >> 16 & 255u),
                number_of(codes >> 24));
            vec4 v = numbers * scales.x + scales.y;
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                if (row0 + r >= m) continue;
                uint from = (row0 + r) * k + at;
                sums[r] += a[from] * v.x + a[from + 1] * v.y + a[from + 2] * v.z + a[from + 3] * v.w;
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
    for (uint r = 0; r < ROWS && row0 + r < m; r++) {
        uint row = row0 + r;
        float v = part[(r * COLUMNS + column) * parts] * alpha;
        if (has_c != 0) v += c[row * c_row + col * c_col] * beta;
        y[row * n + col] = v;
    }
}
