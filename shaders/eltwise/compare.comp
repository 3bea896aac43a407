// y[y_offset + i] = 1 if F holds for the elements of a and b at the place of i, else 0. extent has
// the extents of y, the last one innermost. Strides and offsets are in elements; a stride of 0
// repeats. Missing axes come first, with extent 1. With LOGIC all bytes but 0 are equal.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require

#include "common.glsl"
#include "types.glsl"
#include "compare.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;

layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) readonly buffer B { T b[]; };
layout(set = 0, binding = 2) writeonly buffer Y { uint8_t y[]; };
layout(push_constant) uniform Push {
    uint n, a_offset, b_offset, y_offset;
    uint extent[6], a_stride[6], b_stride[6];
};

bool holds(C u, C v) {
#ifdef IS_FLOAT
    if (is_nan(u) || is_nan(v)) return false;
#endif
#ifdef LOGIC
    u = min(u, C(1));
    v = min(v, C(1));
#endif
    switch (FUNCTION) {
    case F_eq: return u == v;
    case F_gt: return u > v;
    default: return u >= v;
    }
}

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    uint at_a = a_offset, at_b = b_offset, rest = i;
    for (int axis = 5; axis >= 0 && rest != 0u; axis--) {
        const uint place = rest % extent[axis];
        rest /= extent[axis];
        at_a += place * a_stride[axis];
        at_b += place * b_stride[axis];
    }
    y[y_offset + i] = uint8_t(holds(LOAD(a[at_a]), LOAD(b[at_b])) ? 1u : 0u);
}
