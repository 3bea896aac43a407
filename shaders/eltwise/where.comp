// y[y_offset + i] = cond != 0 ? a : b for the elements of cond, a and b at the place of i. extent
// has the extents of y, the last one innermost. Strides and offsets are in elements; a stride of 0
// repeats. Missing axes come first, with extent 1.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require

#include "common.glsl"
#include "width.glsl"

layout(set = 0, binding = 0) readonly buffer Cond { uint8_t cond[]; };
layout(set = 0, binding = 1) readonly buffer A { E a[]; };
layout(set = 0, binding = 2) readonly buffer B { E b[]; };
layout(set = 0, binding = 3) writeonly buffer Y { E y[]; };
layout(push_constant) uniform Push {
    uint n, cond_offset, a_offset, b_offset, y_offset;
    uint extent[6], cond_stride[6], a_stride[6], b_stride[6];
};

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    uint at_cond = cond_offset, at_a = a_offset, at_b = b_offset, rest = i;
    for (int axis = 5; axis >= 0 && rest != 0u; axis--) {
        const uint place = rest % extent[axis];
        rest /= extent[axis];
        at_cond += place * cond_stride[axis];
        at_a += place * a_stride[axis];
        at_b += place * b_stride[axis];
    }
    if (uint(cond[at_cond]) != 0u) {
        y[y_offset + i] = a[at_a];
    } else {
        y[y_offset + i] = b[at_b];
    }
}
