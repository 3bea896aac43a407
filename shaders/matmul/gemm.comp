#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"

// Products of matrices [m,k] and [k,n] by tiles in shared memory, one matrix of a batch per
// z of the grid: y = F(alpha * a b + beta * c). Strides are in elements. The constants are
// the rows and columns that an invocation computes; a workgroup of 16 x 16 invocations
// computes a tile of 16 times as many. With PARTS above 1 that many groups share the k axis of
// a tile and write their sums behind each other, for matmul/join.

layout(constant_id = 1) const uint ROWS = 4;
layout(constant_id = 2) const uint COLS = 4;
layout(constant_id = 3) const uint PARTS = 1;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) readonly buffer Add { T c[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };
layout(std430, binding = 4) writeonly buffer Sums { C sums_of_part[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint a_row, a_col, b_row, b_col;
    uint n1, n2;             // extents of the two inner axes of the batch
    uint a0, a1, a2;         // strides of the batch, outermost first
    uint b0, b1, b2;
    uint c_row, c_col, c_batch;
    uint has_c;
    float alpha, beta;
    uint then;
    float p, q;
    uint a_first; // element of a with which the rows begin
};

const uint SIDE = 16;
const uint DEPTH = 16;
const uint TILE_M = SIDE * ROWS;
const uint TILE_N = SIDE * COLS;

shared C left[DEPTH * (TILE_M + 1)];
shared C right[DEPTH * (TILE_N + 1)];

void main() {
    uint id = gl_LocalInvocationID.x;
    uint tx = id % SIDE, ty = id / SIDE;
    uint row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    uint z = gl_WorkGroupID.z / PARTS, part = gl_WorkGroupID.z % PARTS;
    uint each = (k + PARTS * DEPTH - 1) / (PARTS * DEPTH) * DEPTH, end = min(k, (part + 1) * each);
    uint i2 = z % n2, i1 = z / n2 % n1, i0 = z / n2 / n1;
    uint a_at = a_first + i0 * a0 + i1 * a1 + i2 * a2;
    uint b_at = i0 * b0 + i1 * b1 + i2 * b2;

    C sums[ROWS * COLS];
    for (uint i = 0; i < ROWS * COLS; i++) sums[i] = C(0);

    for (uint k0 = part * each; k0 < end; k0 += DEPTH) {
        // The axis whose elements are neighbours in memory is that of neighbouring invocations.
        for (uint i = id; i < TILE_M * DEPTH; i += SIDE * SIDE) {
            uint r = a_col == 1 ? i / DEPTH : i % TILE_M;
            uint d = a_col == 1 ? i % DEPTH : i / TILE_M;
            bool inside = row0 + r < m && k0 + d < end;
            left[d * (TILE_M + 1) + r] = inside ? LOAD(a[a_at + (row0 + r) * a_row + (k0 + d) * a_col]) : C(0);
        }
        for (uint i = id; i < TILE_N * DEPTH; i += SIDE * SIDE) {
            uint r = b_col == 1 ? i % TILE_N : i / DEPTH;
            uint d = b_col == 1 ? i / TILE_N : i % DEPTH;
            bool inside = col0 + r < n && k0 + d < end;
            right[d * (TILE_N + 1) + r] = inside ? LOAD(b[b_at + (k0 + d) * b_row + (col0 + r) * b_col]) : C(0);
        }
        barrier();
        for (uint d = 0; d < DEPTH; d++) {
            C l[ROWS];
            for (uint i = 0; i < ROWS; i++) l[i] = left[d * (TILE_M + 1) + ty + i * SIDE];
            for (uint j = 0; j < COLS; j++) {
                C r = right[d * (TILE_N + 1) + tx + j * SIDE];
                for (uint i = 0; i < ROWS; i++) sums[i * COLS + j] += l[i] * r;
            }
        }
        barrier();
    }

    for (uint i = 0; i < ROWS; i++) {
        for (uint j = 0; j < COLS; j++) {
            uint row = row0 + ty + i * SIDE, col = col0 + tx + j * SIDE;
            if (row >= m || col >= n) continue;
            if (PARTS > 1) {
                sums_of_part[((part * (gl_NumWorkGroups.z / PARTS) + z) * m + row) * n + col] = sums[i * COLS + j];
                continue;
            }
            C v = SCALED(sums[i * COLS + j], alpha);
            if (has_c != 0) v += SCALED(LOAD(c[z * c_batch + row * c_row + col * c_col]), beta);
            y[(z * m + row) * n + col] = STORE(EPILOGUE(v, then, p, q));
        }
    }
}
