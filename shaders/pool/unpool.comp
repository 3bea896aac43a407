// Elements put where indices of a value of other extents say, an element per invocation. Where
// several have one index the last counts: with NOTE the greatest number of an element, from 1
// on, is noted for each place, and then those elements are written. Indices that are not there
// are noted in the operand fault: the complement of the element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"
#include "ints.glsl"

layout(constant_id = 1) const uint NOTE = 0;
layout(constant_id = 2) const uint INDEX_WORDS = 2;

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) readonly buffer Index { int index[]; };
layout(std430, binding = 2) buffer Winner { uint winner[]; };
layout(std430, binding = 3) writeonly buffer Y { E y[]; };
layout(std430, binding = 4) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint total;
    int count; // places that indices name
    uint from[5], to[5];
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    int k = INT_OF(index, int(i), INDEX_WORDS);
    if (k < 0 || k >= count) {
        atomicMax(fault, ~i);
        return;
    }
    uint rest = uint(k), at = 0, step = 1;
    for (int a = 4; a >= 0; a--) {
        at += rest % from[a] * step;
        rest /= from[a];
        step *= to[a];
    }
    if (NOTE != 0) {
        atomicMax(winner[at], i + 1);
    } else if (winner[at] == i + 1) {
        y[at] = x[i];
    }
}
