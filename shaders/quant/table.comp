// table computes a function for all 256 codes of a number, as codes, one per invocation. FUNCTION 0
// is the number itself, 1 the logistic function, and 2 leaky relu.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#include "common.glsl"
#include "quantized.glsl"
#include "math_active.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;
layout(constant_id = 2) const uint SIGNED = 0;
layout(constant_id = 3) const uint HALF = 0;
layout(constant_id = 4) const uint ZEROS = 3; // bits: of x and y

layout(std430, binding = 0) readonly buffer XScale { uint x_scale[]; };
layout(std430, binding = 1) readonly buffer XZero { uint x_zero[]; };
layout(std430, binding = 2) readonly buffer YScale { uint y_scale[]; };
layout(std430, binding = 3) readonly buffer YZero { uint y_zero[]; };
layout(std430, binding = 4) writeonly buffer Y { uint8_t y[]; };

layout(push_constant) uniform Words { float alpha; };

void main() {
    uint i = flat_index();
    if (i >= 256) return;
    int xz = (ZEROS & 1u) != 0u ? CODE_OF(x_zero, 0, SIGNED) : 0, yz = (ZEROS & 2u) != 0u ? CODE_OF(y_zero, 0, SIGNED) : 0;
    precise float v = float(code_of(i, SIGNED) - xz) * SCALE_OF(x_scale, 0, HALF);
    if (FUNCTION == 1) v = m_sigmoid(v);
    if (FUNCTION == 2 && v < 0.0) v *= alpha;
    v /= SCALE_OF(y_scale, 0, HALF);
    int least = SIGNED != 0 ? -128 : 0;
    y[i] = uint8_t(quantized(v, float(least - yz), float(least + 255 - yz), yz));
}
