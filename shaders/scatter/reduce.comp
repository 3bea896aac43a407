#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 1
#define FAULT 3
#define LANES
#include "common.glsl"
#include "types.glsl"
#include "index.glsl"
#include "target.glsl"

// reduce combines updates [outer,n,inner] with the elements of y in order. An invocation has a lane
// along the middle axis. No two lanes have a target in common.

#define ADD 0
#define MUL 1
#define MAX 2
#define MIN 3

layout(constant_id = 3) const uint REDUCE = ADD;

layout(std430, binding = 0) readonly buffer Updates { T updates[]; };
layout(std430, binding = 2) buffer Y { T y[]; };

C joined(C a, C b) {
    if (REDUCE == ADD) return a + b;
    if (REDUCE == MUL) return a * b;
#ifdef IS_FLOAT
    return REDUCE == MAX ? max_nan(a, b) : min_nan(a, b);
#else
    return REDUCE == MAX ? max(a, b) : min(a, b);
#endif
}

void main() {
    uint lane = flat_index();
    if (lane >= total / n) return;
    uint at = lane / inner * n * inner + lane % inner;
    for (uint k = 0; k < n; k++, at += inner) {
        uint to = target(at);
        if (to != NOWHERE) y[to] = STORE(joined(LOAD(y[to]), LOAD(updates[at])));
    }
}
