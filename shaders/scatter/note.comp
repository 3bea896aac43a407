#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 1
#define FAULT 2
#include "common.glsl"
#include "index.glsl"
#include "target.glsl"

// note records the number, from 1 on, of the last update of each block of the output, an update per
// invocation. winner must be cleared before. It stays 0 for blocks without an update.

layout(std430, binding = 0) buffer Winner { uint winner[]; };

void main() {
    uint block = TUPLES != 0 ? step : 1, k = flat_index();
    if (k >= total / block) return;
    uint to = target(k * block);
    if (to != NOWHERE) atomicMax(winner[to / block], k + 1);
}
