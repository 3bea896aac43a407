// rotary rotates heads [batch,heads,rows,size] as include/rotary.glsl says, an element per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#define COS 1
#define SIN 2
#define INDEX 3
#define FAULT 5
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, heads, rows, size, pairs;
    uint start, per_batch, per_head, per_row; // of x
    uint y_start, y_batch, y_head, y_row;
    uint table;
};

#include "rotary.glsl"

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint e = i % size, r = i / size % rows, h = i / size / rows % heads, b = i / size / rows / heads;
    uint head = start + b * per_batch + h * per_head + r * per_row, to = y_start + b * y_batch + h * y_head + r * y_row + e;
    if (e >= 2 * pairs) {
        y[to] = x[head + e];
        return;
    }
    uint row = angle_row(b, r, rows);
    if (row != NOWHERE) y[to] = STORE(ROTATED(x, head, e, row));
}
