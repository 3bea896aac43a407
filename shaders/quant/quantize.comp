// y[i] = x[i] / scale, rounded to the nearest integer, ties to even, plus zero. Codes saturate at
// LEAST and MOST. NaN becomes LEAST.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "scale.glsl"

layout(constant_id = 1) const int LEAST = 0;
layout(constant_id = 2) const int MOST = 0;
layout(constant_id = 3) const uint PRECISION = 0; // precision of numbers, scales and quotients

layout(std430, binding = 0) readonly buffer X { S x[]; };
layout(std430, binding = 1) readonly buffer Scales { S scale[]; };
layout(std430, binding = 2) readonly buffer Zeros { T zero[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint n, axis, inner, block;
    uint per_outer, per_axis, per_inner;
    uint has_zero;
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint at = scale_of(i, uvec2(axis, inner), block, uvec3(per_outer, per_axis, per_inner));
    float q = quotient_in(PRECISION, SCALE(x[i]), SCALE(scale[at]));
    int code = int(roundEven(clamp(is_nan(q) ? -1.0e6 : q, -1.0e6, 1.0e6)));
    if (has_zero != 0) code += int(LOAD(zero[at]));
    y[i] = T(clamp(code, LEAST, MOST));
}
