// outcome draws outcomes of rows, a sample per invocation, as integers of WIDE words. An outcome is
// the first element with a running sum above a random part of the last sum.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "philox.glsl"
#include "unit.glsl"

layout(constant_id = 1) const uint WIDE = 1;

layout(std430, binding = 0) readonly buffer Sums { double sums[]; };
layout(std430, binding = 1) readonly buffer Key { uvec2 key; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words { uint total, n, samples; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint at = i / samples * n, low = 0, high = n - 1;
    precise double u = unit(philox(i, key)) * sums[at + n - 1];
    while (low < high) {
        uint middle = (low + high) / 2;
        if (sums[at + middle] > u) high = middle;
        else low = middle + 1;
    }
    y[i * WIDE] = low;
    if (WIDE == 2) y[i * 2 + 1] = 0;
}
