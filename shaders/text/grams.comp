// Numbers of n-grams in rows of items, a coordinate of the result per invocation, which adds
// up those of the n-grams that count there. Items are integers of ITEM_WORDS words. Items of an
// n-gram stand up to DISTANCES places apart. Lists has where the n-grams of each coordinate
// begin, then where the items of each n-gram begin, then items of two words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint ITEM_WORDS = 2;
layout(constant_id = 2) const uint COUNTED = 1; // else what occurs counts once
layout(constant_id = 3) const uint WEIGHTED = 0;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Lists { uint lists[]; };
layout(std430, binding = 2) readonly buffer Weights { float weights[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words { uint total, width, n, distances, grams; };

uvec2 item(uint i) {
    if (ITEM_WORDS == 2) return uvec2(x[2 * i], x[2 * i + 1]);
    return uvec2(x[i], int(x[i]) < 0 ? 0xffffffffu : 0u);
}

// How often the n-gram whose items lie from first to end occurs in the row at a place.
uint count_of(uint first, uint end, uint row) {
    uint size = end - first, found = 0, items = width + 1 + grams + 1;
    for (uint apart = 1; apart <= (size > 1 ? distances : 1u) && (size - 1) * apart < n; apart++) {
        for (uint start = 0; start + (size - 1) * apart < n; start++) {
            uint k = 0;
            while (k < size && item(row + start + k * apart) == uvec2(lists[items + 2 * (first + k)], lists[items + 2 * (first + k) + 1])) k++;
            found += uint(k == size);
        }
    }
    return found;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint at = i % width, row = i / width * n;
    precise float sum = 0.0;
    for (uint g = lists[at]; g < lists[at + 1]; g++) {
        uint count = count_of(lists[width + 1 + g], lists[width + 2 + g], row);
        precise float v = COUNTED != 0 ? float(count) : float(min(count, 1u));
        if (WEIGHTED != 0) v *= weights[g];
        if (count > 0) sum += v;
    }
    y[i] = sum;
}
