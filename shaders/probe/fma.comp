// fma computes eight chains of multiply-adds in each invocation, LOOPS steps long, to measure the
// rate of arithmetic. y[i] is the sum of the ends.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint LOOPS = 1;

layout(std430, binding = 0) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words { uint n; float factor, term; };

void main() {
    uint i = flat_index();
    vec4 a = vec4(float(i & 7u), 1, 2, 3), b = a + 4.0;
    for (uint k = 0; k < LOOPS; k++) {
        a = fma(a, vec4(factor), vec4(term));
        b = fma(b, vec4(factor), vec4(term));
    }
    vec4 s = a + b;
    if (i < n) y[i] = s.x + s.y + s.z + s.w;
}
