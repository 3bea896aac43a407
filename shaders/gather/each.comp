#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 1
#define FAULT 3
#include "common.glsl"
#include "width.glsl"
#include "index.glsl"
#include "target.glsl"

// each copies the elements or blocks that indices name, an element of the result per invocation.

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint from = target(at);
    if (from != NOWHERE) y[at] = x[from];
}
