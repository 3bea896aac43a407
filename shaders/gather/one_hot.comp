#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"

// one_hot adds an axis of depth elements to [outer,inner], an element per invocation. The element
// that an index names has the second value, and all others have the first. Indices are integers of
// 32 or 64 bits, or floats rounded towards zero. An index outside the axis names no element.

#define FLOATS 3

layout(constant_id = 1) const uint INDEX_WORDS = 2; // or FLOATS
layout(constant_id = 2) const uint FROM_END = 1;

layout(std430, binding = 0) readonly buffer Index { int index[]; };
layout(std430, binding = 1) readonly buffer Values { E values[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };

layout(push_constant) uniform Words { uint total, depth, inner; };

// place_of returns index k, or -depth - 1 for an index outside the range of int.
int place_of(uint k) {
    int beyond = -int(depth) - 1;
    if (INDEX_WORDS == FLOATS) {
        int bits = index[k];
        return (bits & 0x7fffffff) < 0x4f000000 ? int(intBitsToFloat(bits)) : beyond; // below 2^31
    }
    int place = index[k * INDEX_WORDS];
    return INDEX_WORDS == 2 && index[k * INDEX_WORDS + 1] != place >> 31 ? beyond : place;
}

void main() {
    uint at = flat_index();
    if (at >= total) return;
    int place = place_of(at / inner / depth * inner + at % inner);
    if (place < 0 && FROM_END != 0) place += int(depth);
    y[at] = values[place == int(at / inner % depth) ? 1 : 0];
}
