// y[i] = x[i] or, if SCALED is set, (x[i] - zero) * scale, for packed codes. zero and scale are of
// the element's block. If NUMBERS is set, a table maps codes to numbers, otherwise they are
// integers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scale.glsl"
#include "packed.glsl"

layout(constant_id = 1) const uint BITS = 4;
layout(constant_id = 2) const uint KIND = 0;
layout(constant_id = 3) const uint NUMBERS = 0;
layout(constant_id = 4) const uint SCALED = 1;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Scales { S scale[]; };
layout(std430, binding = 2) readonly buffer Zeros { uint zero[]; };
layout(std430, binding = 3) readonly buffer Table { float table[]; };
layout(std430, binding = 4) writeonly buffer Y { S y[]; };

layout(push_constant) uniform Words {
    uint n, axis, inner, block;
    uint per_outer, per_axis, per_inner;
    uint has_zero;
};

float number(uint code) { return NUMBERS != 0 ? table[code] : float(decoded(code, BITS, KIND)); }

void main() {
    uint i = flat_index();
    if (i >= n) return;
    precise float v = number(BITS_OF(x, i, BITS));
    if (SCALED != 0) {
        uint at = scale_of(i, uvec2(axis, inner), block, uvec3(per_outer, per_axis, per_inner));
        if (has_zero != 0) v -= number(BITS_OF(zero, at, BITS));
        v *= SCALE(scale[at]);
    }
    y[i] = UNSCALE(v);
}
