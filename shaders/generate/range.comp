// y[i] = start + i delta, an element per invocation. In float32 the product is rounded before the
// sum. Elements of 16 bits are the nearest to the exact result. Integers wrap around. With PAIRS
// they have 64 bits, in two words.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#if defined(PAIRS)
#define T uvec2
#define C uvec2
#define STORE(x) x
#else
#include "types.glsl"
#endif

layout(set = 0, binding = 0) readonly buffer Start { T start; };
layout(set = 0, binding = 1) readonly buffer Delta { T delta; };
layout(set = 0, binding = 2) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push { uint n; };

#if defined(PAIRS)
C element(uint i) {
    uint high, low, carry;
    umulExtended(delta.x, i, high, low);
    const uint sum = uaddCarry(start.x, low, carry);
    return C(sum, start.y + high + delta.y * i + carry);
}
#elif defined(IS_INT)
C element(uint i) { return C(U(LOAD(start)) + U(i) * U(LOAD(delta))); }
#elif BITS == 32
C element(uint i) {
    precise const float step = float(i) * delta, v = start + step;
    return v;
}
#else
// Products of a 13-bit part of i and an 11-bit number are exact. Rounding errors of sums are added
// to the last sum. If a product could overflow, numbers are scaled by 1/4.
C element(uint i) {
    const float from = LOAD(start), unit = magnitude(from) > 1.2676506e30 ? 0.25 : 1.0;
    precise const float a = from * unit, d = LOAD(delta) * unit;
    precise const float high = float(i & ~0xfffu) * d, low = float(i & 0xfffu) * d;
    precise const float step = high + low, lost = low - (step - high);
    precise const float v = a + step, b = v - a, rest = (a - (v - b)) + (step - b);
    precise const float sum = (v + (rest + lost)) * (unit < 1.0 ? 4.0 : 1.0);
    return sum;
}
#endif

void main() {
    const uint i = flat_index();
    if (i < n) y[i] = STORE(element(i));
}
