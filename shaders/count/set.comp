// set writes 1 for an element of BITS bits that is not zero, else 0. MASK selects the bits that
// count, in an element or in the upper word of one of 64 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint BITS = 32;
layout(constant_id = 2) const uint MASK = 0xffffffffu;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Flags { uint flags[]; };

layout(push_constant) uniform Words { uint total; };

void main() {
    const uint each = 32 / min(BITS, 32u);
    uint i = flat_index();
    if (i >= total) return;
    uint code = BITS == 64 ? x[2 * i] | x[2 * i + 1] & MASK : x[i / each] >> i % each * BITS & MASK;
    flags[i] = uint(code != 0);
}
