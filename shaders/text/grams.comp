// grams counts n-grams in rows of items, a coordinate of the result per invocation. A coordinate
// adds up the counts of its n-grams. Items are integers of ITEM_WORDS words. Neighbouring items of
// an n-gram are up to distances positions apart. lists has the first n-gram of each coordinate,
// then the first item of each n-gram, then the items, of two words each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint ITEM_WORDS = 2;
layout(constant_id = 2) const uint COUNTED = 1; // otherwise an n-gram counts once
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

// count_of returns the number of occurrences in a row of the n-gram of items first to end - 1.
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
