// picked writes image, class and box of every pick as integers of 64 bits, and the number of picks.
// ends is the number of picks up to the end of each class.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(std430, binding = 0) readonly buffer Picks { uint picks[]; };
layout(std430, binding = 1) readonly buffer Ends { uint ends[]; };
layout(std430, binding = 2) writeonly buffer Y { uvec2 y[]; };
layout(std430, binding = 3) writeonly buffer Count { uint count; };

layout(push_constant) uniform Words { uint total, classes, n; };

void main() {
    uint i = flat_index(), lane = i / n;
    if (i >= total) return;
    if (i == 0) count = ends[total / n - 1];
    uint to = (lane == 0 ? 0 : ends[lane - 1]) + i % n;
    if (to >= ends[lane]) return;
    y[3 * to] = uvec2(lane / classes, 0);
    y[3 * to + 1] = uvec2(lane % classes, 0);
    y[3 * to + 2] = uvec2(picks[i], 0);
}
