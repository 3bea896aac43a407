// window sums cosines of whole numbers of turns, an element per invocation. By 1 - cos x = 2 sin^2
// (x/2) the sum is total - first sin^2 (pi i / period) - second sin^2 (2 pi i / period). This form
// loses no digits near 0. Turns are reduced as integers.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "types.glsl"
#include "math_trig.glsl"

layout(set = 0, binding = 0) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push { uint n, period; float total, first, second; };

float square(uint turns) {
    const uint rest = turns % period;
    precise const float s = m_sin(PI_HIGH * (float(min(rest, period - rest)) / float(period))), y = s * s;
    return y;
}

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    precise const float v = total - (first * square(i) + second * square(2u * i));
    y[i] = STORE(v);
}
