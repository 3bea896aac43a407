// dynamic computes a scale and a zero point for all elements, as unsigned 8-bit codes, in one
// workgroup. The range from least to greatest element, extended to 0, has 255 steps. NaN does not
// count.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#include "common.glsl"
#include "bits.glsl"
#include "quotient.glsl"

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Scale { float scale[]; };
layout(std430, binding = 2) writeonly buffer Zero { uint8_t zero[]; };

layout(push_constant) uniform Words { uint n; };

shared float lows[gl_WorkGroupSize.x];
shared float highs[gl_WorkGroupSize.x];

void main() {
    uint id = gl_LocalInvocationID.x;
    float low = 0.0, high = 0.0;
    for (uint i = id; i < n; i += gl_WorkGroupSize.x) {
        float v = x[i];
        if (!is_nan(v) && v < low) low = v;
        if (!is_nan(v) && v > high) high = v;
    }
    lows[id] = low;
    highs[id] = high;
    barrier();
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
        if (id < step) {
            lows[id] = min(lows[id], lows[id + step]);
            highs[id] = max(highs[id], highs[id + step]);
        }
        barrier();
    }
    if (id != 0) return;
    precise float range = highs[0] == lows[0] ? 1.0 : highs[0] - lows[0];
    float s = rounded_quotient(range, 255.0), offset = rounded_quotient(negated(lows[0]), s);
    scale[0] = s;
    zero[0] = uint8_t(uint(offset > 0.0 ? offset < 255.0 ? roundEven(offset) : 255.0 : 0.0));
}
