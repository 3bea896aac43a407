// widen_codes converts rows of include/codes.glsl, in memory with room, to floats, an element per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "codes.glsl"

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, rows, size;
    uint head; // bytes from a head to the next
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint e = i % size, r = i / size % rows, row = i / size / rows * head + r * row_bytes(size);
    y[i] = STORE(float(CODE_OF(x, row + e, 1)) * ROW_SCALE(x, row, size, e / BLOCK));
}
