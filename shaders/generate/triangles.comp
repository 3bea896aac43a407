// triangles fills a matrix with a triangle per column, an element per invocation. Column k rises
// from 0 at row corners[k] to 1 at corners[k+1], and falls to 0 at corners[k+2].
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "types.glsl"

layout(set = 0, binding = 0) readonly buffer Corners { int corners[]; };
layout(set = 0, binding = 1) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push { uint n, columns; };

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    const uint column = i % columns;
    const int row = int(i / columns), a = corners[column], b = corners[column + 1], c = corners[column + 2];
    float v = row == a && a == b ? 1.0 : 0.0;
    if (row >= b && row < c) v = float(c - row) / float(c - b);
    else if (row >= a && row <= b && a < b) v = float(row - a) / float(b - a);
    y[i] = STORE(v);
}
