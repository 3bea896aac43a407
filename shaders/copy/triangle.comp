// triangle copies the upper or the lower triangle of matrices, an element per invocation. Other
// elements are 0. The element at (row, column) is on diagonal column - row. The last diagonal that
// is kept is a push constant, or an operand if GIVEN is set.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "width.glsl"

layout(constant_id = 1) const uint UPPER = 1;
layout(constant_id = 2) const uint GIVEN = 0;

layout(set = 0, binding = 0) readonly buffer X { E x[]; };
layout(set = 0, binding = 1) readonly buffer Diagonal { ivec2 given; };
layout(set = 0, binding = 2) writeonly buffer Y { E y[]; };
layout(push_constant) uniform Push { uint n, rows, columns; int diagonal; };

// last_diagonal limits an integer of 64 bits to the range of 32, beyond all diagonals.
int last_diagonal() {
    if (GIVEN == 0) return diagonal;
    if (given.y == given.x >> 31) return given.x;
    return given.y < 0 ? -0x7fffffff : 0x7fffffff;
}

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    const int on = int(i % columns) - int(i / columns % rows), last = last_diagonal();
    const bool kept = UPPER != 0 ? on >= last : on <= last;
#if WIDTH == 8
    y[i] = kept ? x[i] : uvec2(0u);
#else
    y[i] = E(kept ? uint(x[i]) : 0u);
#endif
}
