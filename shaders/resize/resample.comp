// resample resamples the middle axis of [outer,n,inner] to [outer,m,inner], an element of the
// result per invocation: y[o,j,i] = sum of weights[t*m + j] x[o,start[j]+t,i] over the taps t.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "result.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Start { int start[]; };
layout(std430, binding = 2) readonly buffer Weights { float weights[]; };
layout(std430, binding = 3) writeonly buffer Y { R y[]; };

layout(push_constant) uniform Words { uint total, n, inner, m, taps; };

void main() {
    uint at = flat_index();
    if (at >= total) return;
    uint i = at % inner, j = at / inner % m, o = at / inner / m;
    uint from = (o * n + uint(start[j])) * inner + i;
    float sum = 0.0;
    for (uint t = 0; t < taps; t++) sum += weights[t * m + j] * LOAD(x[from + t * inner]);
    y[at] = RESULT(sum);
}
