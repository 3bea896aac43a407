// power raises floats to integers of EXPONENT_BITS bits. Operands are indexed as in binary.comp. An
// exponent is split in two, because float32 lacks some integers. From 2^40 on all exponents give
// the same result, except for the sign.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "power.glsl"

layout(constant_id = 1) const uint EXPONENT_BITS = 32;
layout(constant_id = 2) const uint EXPONENT_SIGNED = 0;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { uint b[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint total, extent[6], a_stride[6], b_stride[6]; };

float power(float base, uvec2 size, bool negative) {
    bool odd = (size.x & 1u) != 0 && size.y < 1u << 21; // even from 2^53 on, as in float64
    if (size.y >= 1u << 8) size = uvec2(0u, 1u << 8);
    float high = float(size.y << 12 | size.x >> 20) * 1048576.0, low = float(size.x & 0xfffffu), far = magnitude(base);
    if (negative) {
        high = negated(high);
        low = negated(low);
    }
    precise float all = high == 0.0 ? m_pow(far, low) : low == 0.0 ? m_pow(far, high) : m_pow(far, high) * m_pow(far, low);
    return odd && is_negative(base) ? negated(all) : all;
}

void main() {
    const uint each = 32 / min(EXPONENT_BITS, 32u);
    uint i = flat_index();
    if (i >= total) return;
    uint at_a = 0, at_b = 0, rest = i;
    for (int axis = 5; axis >= 0 && rest != 0; axis--) {
        uint place = rest % extent[axis];
        rest /= extent[axis];
        at_a += place * a_stride[axis];
        at_b += place * b_stride[axis];
    }
    uint low = EXPONENT_BITS == 64 ? b[2 * at_b] : b[at_b / each] >> at_b % each * EXPONENT_BITS << 32 - min(EXPONENT_BITS, 32u), high = 0;
    if (EXPONENT_BITS == 64) high = b[2 * at_b + 1];
    else if (EXPONENT_SIGNED != 0) low = uint(int(low) >> 32 - min(EXPONENT_BITS, 32u));
    else low >>= 32 - min(EXPONENT_BITS, 32u);
    bool negative = EXPONENT_SIGNED != 0 && int(EXPONENT_BITS == 64 ? high : low) < 0;
    if (negative) {
        low = ~low + 1;
        if (EXPONENT_BITS == 64) high = ~high + uint(low == 0);
    }
    y[i] = STORE(power(LOAD(a[at_a]), uvec2(low, high), negative));
}
