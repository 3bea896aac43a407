#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "order.glsl"

// arg finds the largest or the smallest element along the middle axis of [outer,n,inner], a lane
// per workgroup. The result is its position, as an integer of 64 bits. NaN is beyond every number.
// Of equal elements the last one counts if LAST is set, otherwise the first.

layout(constant_id = 2) const uint LARGEST = 1;
layout(constant_id = 3) const uint LAST = 0;

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) writeonly buffer Y { uvec2 y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

const uint NOWHERE = 0xffffffffu;

shared KEY best[gl_WorkGroupSize.x];
shared uint place[gl_WorkGroupSize.x];

KEY score(KEY k) {
    return LARGEST != 0 || KIND >= FLOAT && k == NAN_KEY ? k : ~k;
}

// ahead reports whether the element at i wins over the element at j.
bool ahead(KEY a, uint i, KEY b, uint j) {
    if (i == NOWHERE || j == NOWHERE) return j == NOWHERE;
    return a == b ? (LAST != 0) == (i > j) : above(a, b);
}

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x, at = lane / inner * n * inner + lane % inner, where = NOWHERE;
    KEY top = LEAST_KEY;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        KEY k = score(key_of(x[at + i * inner]));
        if (ahead(k, i, top, where)) {
            top = k;
            where = i;
        }
    }
    best[id] = top;
    place[id] = where;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step && ahead(best[id + step], place[id + step], best[id], place[id])) {
            best[id] = best[id + step];
            place[id] = place[id + step];
        }
        barrier();
    }
    if (id == 0) y[lane] = uvec2(place[0], 0);
}
