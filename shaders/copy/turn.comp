// turn copies matrices [rows,cols], one per z of the grid, with their axes exchanged. A workgroup
// copies a square by way of shared memory, so that neighbours in both operands are neighbours.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "width.glsl"

layout(set = 0, binding = 0) readonly buffer X { E x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { E y[]; };
layout(push_constant) uniform Push { uint rows, cols; };

#if WIDTH == 8
#define KEPT uvec2
#else
#define KEPT uint
#endif

const uint SIDE = 32, STRIDE = SIDE + 1; // a line is one apart, so that columns are in different banks
shared KEPT square[SIDE * STRIDE];

void main() {
    uint first = gl_WorkGroupID.z * rows * cols, row0 = gl_WorkGroupID.y * SIDE, col0 = gl_WorkGroupID.x * SIDE;
    for (uint i = gl_LocalInvocationIndex; i < SIDE * SIDE; i += gl_WorkGroupSize.x) {
        uint row = i / SIDE, col = i % SIDE;
        if (row0 + row < rows && col0 + col < cols) square[row * STRIDE + col] = KEPT(x[first + (row0 + row) * cols + col0 + col]);
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < SIDE * SIDE; i += gl_WorkGroupSize.x) {
        uint col = i / SIDE, row = i % SIDE;
        if (row0 + row < rows && col0 + col < cols) y[first + (col0 + col) * rows + row0 + row] = E(square[row * STRIDE + col]);
    }
}
