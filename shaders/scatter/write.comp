#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 1
#define FAULT 4
#include "common.glsl"
#include "width.glsl"
#include "index.glsl"
#include "target.glsl"

// write writes the elements of updates, one per invocation, except where a later update writes.

layout(std430, binding = 0) readonly buffer Updates { E updates[]; };
layout(std430, binding = 2) readonly buffer Winner { uint winner[]; };
layout(std430, binding = 3) writeonly buffer Y { E y[]; };

void main() {
    uint block = TUPLES != 0 ? step : 1, at = flat_index();
    if (at >= total) return;
    uint to = target(at);
    if (to != NOWHERE && winner[to / block] == at / block + 1) y[to] = updates[at];
}
