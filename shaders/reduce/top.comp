#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "order.glsl"

// top finds the k largest or smallest elements along the middle axis of [outer,n,inner], best
// first, and their positions as integers of 64 bits. Of equal elements the first is better. NaN is
// above all numbers. Elements are found one after another: the next one is the best after the last
// one found. A workgroup searches a piece of a lane. If a piece has fewer than k elements, the
// other positions are NOWHERE. If MERGE is set, x has the elements found in pieces, and from their
// positions.

layout(constant_id = 2) const uint SMALLEST = 0;
layout(constant_id = 3) const uint WANTS = 3; // 1 for elements, 2 for places
layout(constant_id = 4) const uint MERGE = 0;

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) readonly buffer From { uvec2 from[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };
layout(std430, binding = 3) writeonly buffer Where { uvec2 where[]; };

layout(push_constant) uniform Words { uint lanes, n, inner, k, pieces, piece; };

const uint NOWHERE = 0xffffffffu;

shared KEY best[gl_WorkGroupSize.x];
shared uint place[gl_WorkGroupSize.x];

// ahead reports whether the element at i ranks before the element at j.
bool ahead(KEY a, uint i, KEY b, uint j) { return a == b ? i < j : above(a, b); }

// join reduces the best elements of all invocations to one, in element 0.
void join(uint id) {
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step && ahead(best[id + step], place[id + step], best[id], place[id])) {
            best[id] = best[id + step];
            place[id] = place[id + step];
        }
        barrier();
    }
}

void main() {
    uint lane = flat_group() / pieces, start = flat_group() % pieces * piece;
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x, end = min(start + piece, n), at = lane / inner * n * inner + lane % inner;
    uint to = (lane / inner * pieces + flat_group() % pieces) * k * inner + lane % inner;
    KEY last = LEAST_KEY;
    uint behind = NOWHERE;
    for (uint found = 0; found < k; found++, to += inner) {
        KEY top = LEAST_KEY;
        uint top_at = NOWHERE;
        for (uint i = start + id; i < end; i += gl_WorkGroupSize.x) {
            KEY key = key_of(x[at + i * inner]);
            if (SMALLEST != 0) key = ~key;
            if (MERGE != 0 && from[at + i * inner].x == NOWHERE) continue;
            if ((found == 0 || ahead(last, behind, key, i)) && (top_at == NOWHERE || above(key, top))) {
                top = key;
                top_at = i;
            }
        }
        best[id] = top;
        place[id] = top_at;
        join(id);
        last = best[0];
        behind = place[0];
        barrier();
        if (id == 0 && (WANTS & 1) != 0 && behind != NOWHERE) y[to] = x[at + behind * inner];
        if (id == 0 && (WANTS & 2) != 0) where[to] = MERGE != 0 && behind != NOWHERE ? from[at + behind * inner] : uvec2(behind, 0);
    }
}
