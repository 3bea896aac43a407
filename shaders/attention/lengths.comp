// lengths writes the position of the first query of each batch, then the number of keys of each
// batch, then the number of all keys.
//
// KIND 0: x has the position of the last key of each batch, and all_ the number of all keys. If
// there are as many tokens as keys, all first positions are 0. KIND 1: x has the number of keys of
// each batch. The first query is at past, or, with ENDS, the last query is at the last key. KIND 2:
// x has the number of keys before the new ones. If a number does not fit, fault is set to the
// complement of the batch. The limits that follow the length of a stream are in a buffer, so that
// commands stay as they are while it grows.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "ints.glsl"

layout(constant_id = 1) const uint KIND = 0;
layout(constant_id = 2) const uint ENDS = 0;
layout(constant_id = 3) const uint X_WORDS = 1;
layout(constant_id = 4) const uint ALL_WORDS = 1;

layout(std430, binding = 0) readonly buffer X { int x[]; };
layout(std430, binding = 1) readonly buffer All { int all_[]; };
layout(std430, binding = 2) writeonly buffer Y { int y[]; };
layout(std430, binding = 3) buffer Fault { uint fault; };
layout(std430, binding = 4) readonly buffer Limits {
    int room; // most keys
    int past; // most keys of the past; for KIND 1 the keys before the new ones
};

layout(push_constant) uniform Words {
    int batch, tokens;
};

void main() {
    int b = int(flat_index());
    if (b >= batch) return;
    int n = INT_OF(x, KIND == 2 ? 0 : b, X_WORDS), total = room, first = past, valid = n;
    bool fits = n >= 0;
    if (KIND == 0) {
        total = INT_OF(all_, 0, ALL_WORDS);
        bool whole = tokens == total;
        valid = whole ? total : n + 1;
        first = whole ? 0 : n + 1 - tokens;
        fits = fits && total >= 0 && total <= room && n < total && first >= 0 && first <= past;
    } else if (KIND == 1) {
        fits = fits && n <= room;
        if (ENDS != 0) first = n - tokens;
    } else {
        fits = fits && n <= past && n <= room - tokens;
        first = n;
        valid = total = n + tokens;
    }
    if (!fits) {
        atomicMax(fault, ~uint(b));
        first = valid = total = 0;
    }
    y[b] = first;
    y[batch + b] = valid;
    if (b == 0) y[2 * batch] = total;
}
