// Rows of elements, a row per workgroup. A row is read in pieces, EACH elements by an invocation
// before it uses the first. If KEEP is set, a row is one piece, and invocations keep it for all
// passes; else every pass reads it again.
//
// A shader defines element. A pass over a row of n elements is
//     for (uint first = 0; more(first, n); first += PIECE) {
//         take(first, n);
// and then an unrolled loop over own, whose element k is element index(first, k) of the row.
#ifndef ROW_GLSL
#define ROW_GLSL

#extension GL_EXT_control_flow_attributes : require

#include "total.glsl"

layout(constant_id = 1) const uint EACH = 4;
layout(constant_id = 2) const uint KEEP = 0;

const uint PIECE = EACH * gl_WorkGroupSize.x;
float own[EACH];

// element returns element i of the row.
float element(uint i);

uint index(uint first, uint k) { return first + k * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }

bool more(uint first, uint n) { return KEEP != 0 ? first == 0 : first < n; }

// read sets own to the invocation's elements of the piece at first. Elements past the end are 0.
void read(uint first, uint n) {
    [[unroll]] for (uint k = 0; k < EACH; k++) {
        uint i = index(first, k);
        own[k] = i < n ? element(i) : 0.0;
    }
}

// take reads the piece at first, unless it is kept.
void take(uint first, uint n) {
    if (KEEP == 0) read(first, n);
}

// mean_of returns the mean of the row. It is the first pass.
float mean_of(uint n) {
    float sum = 0.0;
    for (uint first = 0; more(first, n); first += PIECE) {
        read(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) sum += own[k];
    }
    return total(sum) / float(n);
}

// spread_of returns the mean square of the differences from middle.
float spread_of(float middle, uint n) {
    float squares = 0.0;
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            float v = index(first, k) < n ? own[k] - middle : 0.0;
            squares += v * v;
        }
    }
    return total(squares) / float(n);
}

#endif
