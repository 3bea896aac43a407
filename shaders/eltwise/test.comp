// y[y_offset + i] = 1 if F holds for x[x_offset + i], else 0. p and q say whether negative and
// positive infinities count.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require

#include "common.glsl"
#include "types.glsl"
#include "unary.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;

layout(set = 0, binding = 0) readonly buffer X { T x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uint8_t y[]; };
layout(push_constant) uniform Push { uint n, x_offset, y_offset, p, q; };

bool holds(float v) {
    if (FUNCTION == F_isnan) return is_nan(v);
    return is_inf(v) && (is_negative(v) ? p : q) != 0u;
}

void main() {
    const uint i = flat_index();
    if (i < n) y[y_offset + i] = uint8_t(holds(LOAD(x[x_offset + i])) ? 1u : 0u);
}
