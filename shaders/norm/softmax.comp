#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math.glsl"

// softmax computes softmax along the middle axis of [outer,n,inner], a lane per workgroup. MODE 0
// is softmax, and 1 its logarithm. MODE 2 gives 1 for the first of the greatest elements, else 0.

layout(constant_id = 1) const uint MODE = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

shared float part[gl_WorkGroupSize.x];
shared uint place[gl_WorkGroupSize.x];

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    uint id = gl_LocalInvocationID.x;
    uint at = lane / inner * n * inner + lane % inner;

    float top = -INFINITY;
    uint first = n;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = LOAD(x[at + i * inner]);
        if (v > top || is_nan(v) && !is_nan(top) || first == n) { top = v; first = i; }
    }
    part[id] = top;
    place[id] = first;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step && place[id + step] < n) {
            float v = part[id + step], w = part[id];
            bool same = v == w || is_nan(v) && is_nan(w);
            if (place[id] == n || v > w || is_nan(v) && !is_nan(w) || same && place[id + step] < place[id]) {
                part[id] = v;
                place[id] = place[id + step];
            }
        }
        barrier();
    }
    top = part[0];
    first = place[0];
    barrier();
    if (MODE == 2) {
        for (uint i = id; i < n; i += gl_WorkGroupSize.x) y[at + i * inner] = STORE(i == first ? 1.0 : 0.0);
        return;
    }

    float sum = 0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) sum += m_exp(LOAD(x[at + i * inner]) - top);
    part[id] = sum;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) part[id] += part[id + step];
        barrier();
    }
    sum = part[0];
    float shift = MODE == 1 ? m_log(sum) : 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = LOAD(x[at + i * inner]) - top;
        y[at + i * inner] = STORE(MODE == 1 ? v - shift : m_exp(v) / sum);
    }
}
