// fill sets n elements: y[to + sum of place * stride] = value. Axes are in order, the last one
// innermost. Strides and offset are in elements. Missing axes come first, with extent 1. value_high
// is the upper word of 8-byte elements.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "width.glsl"

layout(set = 0, binding = 0) writeonly buffer Y { E y[]; };
layout(push_constant) uniform Push {
    uint n, to, value, value_high;
    uint extent[8], stride[8];
};

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    uint target = to, rest = i;
    for (int axis = 7; axis >= 0 && rest != 0u; axis--) {
        const uint place = rest % extent[axis];
        rest /= extent[axis];
        target += place * stride[axis];
    }
#if WIDTH == 8
    y[target] = uvec2(value, value_high);
#else
    y[target] = E(value);
#endif
}
