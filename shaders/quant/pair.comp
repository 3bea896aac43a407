// pair adds quantised values, or multiplies them if PRODUCT is set, and quantises the result, an
// element per invocation. A step of 0 repeats a value along an axis.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#include "common.glsl"
#include "quantized.glsl"

layout(constant_id = 1) const uint PRODUCT = 0;
layout(constant_id = 2) const uint SIGNED = 0;
layout(constant_id = 3) const uint HALF = 0;
layout(constant_id = 4) const uint ZEROS = 7; // bits: of a, b and y

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) readonly buffer AScale { uint a_scale[]; };
layout(std430, binding = 2) readonly buffer AZero { uint a_zero[]; };
layout(std430, binding = 3) readonly buffer B { uint b[]; };
layout(std430, binding = 4) readonly buffer BScale { uint b_scale[]; };
layout(std430, binding = 5) readonly buffer BZero { uint b_zero[]; };
layout(std430, binding = 6) readonly buffer YScale { uint y_scale[]; };
layout(std430, binding = 7) readonly buffer YZero { uint y_zero[]; };
layout(std430, binding = 8) writeonly buffer Y { uint8_t y[]; };

layout(push_constant) uniform Words {
    uint n;
    uint extent[6], a_step[6], b_step[6];
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    uint rest = i, a_at = 0, b_at = 0;
    for (int d = 5; d >= 0; d--) {
        uint place = rest % extent[d];
        rest /= extent[d];
        a_at += place * a_step[d];
        b_at += place * b_step[d];
    }
    int az = (ZEROS & 1u) != 0u ? CODE_OF(a_zero, 0, SIGNED) : 0, bz = (ZEROS & 2u) != 0u ? CODE_OF(b_zero, 0, SIGNED) : 0;
    int zero = (ZEROS & 4u) != 0u ? CODE_OF(y_zero, 0, SIGNED) : 0, u = CODE_OF(a, a_at, SIGNED) - az, v = CODE_OF(b, b_at, SIGNED) - bz;
    float as = SCALE_OF(a_scale, 0, HALF), bs = SCALE_OF(b_scale, 0, HALF), ys = SCALE_OF(y_scale, 0, HALF);
    precise float sum = PRODUCT != 0 ? float(u * v) * (as * bs / ys) : float(u) * (as / ys) + float(v) * (bs / ys);
    float least = SIGNED != 0 ? -128.0 : 0.0, low = least - float(zero), high = low + 255.0;
    sum = sum > low ? sum : low;
    precise float r = (sum < high ? sum : high) + float(zero);
    y[i] = uint8_t(int(roundEven(r)));
}
