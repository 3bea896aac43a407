// rows writes rows [batch,outer,rows,inner] over rows of y [batch,outer,room,inner], from the index
// of the batch on, an element per invocation. If CIRCULAR is set, rows past the end continue at the
// beginning. Otherwise, if rows do not fit, fault is set to the complement of the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"
#include "ints.glsl"

layout(constant_id = 1) const uint CIRCULAR = 0;
layout(constant_id = 2) const uint INDEX_WORDS = 0; // 0 for no index

layout(std430, binding = 0) readonly buffer Rows { E x[]; };
layout(std430, binding = 1) readonly buffer Index { int index[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };
layout(std430, binding = 3) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint total, outer;
    int rows, room;
    uint inner;
};

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint e = at % inner, lane = at / inner / uint(rows), b = lane / outer;
    int r = int(at / inner % uint(rows)), start = 0;
    if (INDEX_WORDS != 0) {
        start = INT_OF(index, int(b), INDEX_WORDS);
        if (CIRCULAR != 0) {
            start %= room;
            if (start < 0) start += room;
        } else if (start < 0 || start > room - rows) {
            atomicMax(fault, ~b);
            return;
        }
    }
    uint to = uint(start + r) % uint(room);
    y[(lane * uint(room) + to) * inner + e] = x[at];
}
