// gemv computes products of few rows [m,k] by matrices [k,n]: y = F(alpha * a b + beta * c). The
// push constants are as in matmul/gemm. z of the grid numbers the matrices of the batch. A
// workgroup computes COLUMNS columns of ROWS rows. Its invocations split the k axis, and their sums
// are added in a fixed order. If NEIGHBOURS is set, neighbouring invocations read neighbouring
// columns of b, otherwise neighbouring elements along k.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"

layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const uint COLUMNS = 16;
layout(constant_id = 3) const uint NEIGHBOURS = 1;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) readonly buffer Add { T c[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint a_row, a_col, b_row, b_col;
    uint n1, n2;
    uint a0, a1, a2;
    uint b0, b1, b2;
    uint c_row, c_col, c_batch;
    uint has_c;
    float alpha, beta;
    uint then;
    float p, q;
    uint a_first; // first element of a's rows
};

shared C part[ROWS * gl_WorkGroupSize.x];

void main() {
    uint id = gl_LocalInvocationID.x, parts = gl_WorkGroupSize.x / COLUMNS;
    uint column = NEIGHBOURS != 0 ? id % COLUMNS : id / parts;
    uint first = NEIGHBOURS != 0 ? id / COLUMNS : id % parts;
    uint col = gl_WorkGroupID.x * COLUMNS + column, row0 = gl_WorkGroupID.y * ROWS;
    uint z = gl_WorkGroupID.z;
    uint i2 = z % n2, i1 = z / n2 % n1, i0 = z / n2 / n1;
    uint a_at = a_first + i0 * a0 + i1 * a1 + i2 * a2;
    uint b_at = i0 * b0 + i1 * b1 + i2 * b2 + col * b_col;

    C sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = C(0);
    for (uint d = first; col < n && d < k; d += parts) {
        C v = LOAD(b[b_at + d * b_row]);
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            if (row0 + r < m) sums[r] += LOAD(a[a_at + (row0 + r) * a_row + d * a_col]) * v;
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
    [[dont_unroll]] for (uint r = 0; r < ROWS; r++) {
        uint row = row0 + r;
        if (row >= m) return;
        C v = SCALED(part[(r * COLUMNS + column) * parts], alpha);
        if (has_c != 0) v += SCALED(LOAD(c[z * c_batch + row * c_row + col * c_col]), beta);
        y[(z * m + row) * n + col] = STORE(EPILOGUE(v, then, p, q));
    }
}
