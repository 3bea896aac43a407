#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "conv.glsl"

// gemm computes convolutions by tiles in shared memory. An invocation computes ROWS filters of COLS
// pixels. A workgroup of 16 x 16 invocations computes a tile with 16 times as many of both.

layout(constant_id = 1) const uint ROWS = 4;
layout(constant_id = 2) const uint COLS = 4;

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
    uint depth = depth(), w_at = w_begin();

    C sums[ROWS * COLS];
    for (uint i = 0; i < ROWS * COLS; i++) sums[i] = C(0);

    for (uint k0 = 0; k0 < depth; k0 += DEPTH) {
        for (uint i = id; i < TILE_M * DEPTH; i += SIDE * SIDE) {
            uint r = i / DEPTH, d = i % DEPTH;
            bool inside = row0 + r < filters && k0 + d < depth;
            left[d * (TILE_M + 1) + r] = inside ? LOAD(w[w_at + (row0 + r) * depth + k0 + d]) : C(0);
        }
        for (uint i = id; i < TILE_N * DEPTH; i += SIDE * SIDE) {
            uint r = i % TILE_N, d = i / TILE_N, at = window(k0 + d, col0 + r);
            right[d * (TILE_N + 1) + r] = at != OUTSIDE ? LOAD(x[at]) : C(0);
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
        for (uint j = 0; j < COLS; j++) take_sum(row0 + ty + i * SIDE, col0 + tx + j * SIDE, sums[i * COLS + j]);
    }
}
