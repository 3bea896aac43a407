// strided copies n elements: y[to + sum of place * to_stride] = x[from + sum of place *
// from_stride]. Axes are in order, the last one innermost. Strides and offsets are in elements.
// Sums wrap around, so that strides may be negative. Missing axes come first, with extent 1.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "width.glsl"

layout(set = 0, binding = 0) readonly buffer X { E x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { E y[]; };
layout(push_constant) uniform Push {
    uint n, from, to;
    uint extent[8], from_stride[8], to_stride[8];
};

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    uint source = from, target = to, rest = i;
    for (int axis = 7; axis >= 0 && rest != 0u; axis--) {
        const uint place = rest % extent[axis];
        rest /= extent[axis];
        source += place * from_stride[axis];
        target += place * to_stride[axis];
    }
    y[target] = x[source];
}
