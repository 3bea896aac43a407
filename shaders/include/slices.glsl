// The order of slices of x [outer,n,inner] along the middle axis. The first elements that differ
// decide, as in order.glsl.
#ifndef SLICES_GLSL
#define SLICES_GLSL

#include "order.glsl"

layout(std430, binding = 0) readonly buffer X { E x[]; };

// compared returns 0 if slices a and b are equal, 1 if a comes first, and -1 if b does.
int compared(uint a, uint b, uint n, uint outer, uint inner) {
    for (uint i = 0; i < outer * inner; i++) {
        uint at = i / inner * n * inner + i % inner;
        KEY u = key_of(x[at + a * inner]), v = key_of(x[at + b * inner]);
        if (u != v) return above(v, u) ? 1 : -1;
    }
    return 0;
}

#endif
