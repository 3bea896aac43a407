// y[i] = (x[i] - zero) * scale, with the zero point and the scale of the element's block.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "scale.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Scales { S scale[]; };
layout(std430, binding = 2) readonly buffer Zeros { T zero[]; };
layout(std430, binding = 3) writeonly buffer Y { S y[]; };

layout(push_constant) uniform Words {
    uint n, axis, inner, block;
    uint per_outer, per_axis, per_inner;
    uint has_zero;
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint at = scale_of(i, uvec2(axis, inner), block, uvec3(per_outer, per_axis, per_inner));
    int code = int(LOAD(x[i]));
    if (has_zero != 0) code -= int(LOAD(zero[at]));
    precise float v = float(code) * SCALE(scale[at]);
    y[i] = UNSCALE(v);
}
