// unpool writes elements to the positions that indices name, an element per invocation. Indices are
// positions in a value of extents from. If several elements have one index, the last one wins. The
// dispatch with NOTE records the number, from 1 on, of the last element for each position; the next
// one writes these elements. If an index is out of range, fault is set to the complement of the
// element.
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
