#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "width.glsl"

// reverse reverses the first elements along the time axis, an element per invocation. Every index
// of the batch axis has a length. Steps are in elements. If a length is out of range, fault is set
// to the complement of its index.

layout(std430, binding = 0) readonly buffer X { E x[]; };
layout(std430, binding = 1) readonly buffer Lengths { ivec2 lengths[]; };
layout(std430, binding = 2) writeonly buffer Y { E y[]; };
layout(std430, binding = 3) buffer Fault { uint fault; };

layout(push_constant) uniform Words { uint total, batches, batch_step, times, time_step; };

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint batch = at / batch_step % batches, time = at / time_step % times;
    ivec2 length = lengths[batch];
    if (length.y != 0 || uint(length.x) > times) {
        atomicMax(fault, ~batch);
        return;
    }
    uint from = time < uint(length.x) ? uint(length.x) - 1 - time : time;
    y[at] = x[at - time * time_step + from * time_step];
}
