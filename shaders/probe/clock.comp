// clock counts the ticks of the device's clock during a chain of LOOPS multiply-adds, in one
// invocation. y has the low words of the start and the end, and an end of the chain.
#version 450
#extension GL_ARB_shader_clock : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint LOOPS = 1;

layout(std430, binding = 0) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words { float factor, term; };

void main() {
    if (flat_index() > 0) return;
    uint begin = clock2x32ARB().x;
    float a = 1.0;
    for (uint k = 0; k < LOOPS; k++) a = fma(a, factor, term);
    y[2] = floatBitsToUint(a);
    y[1] = clock2x32ARB().x;
    y[0] = begin;
}
