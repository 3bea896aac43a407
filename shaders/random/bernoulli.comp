// bernoulli draws 1 with probability x, else 0, an element per invocation. It compares a number of
// 53 random bits with x times 2^53 as integers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "philox.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Key { uvec2 key; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words { uint total; };

// threshold returns the least whole number not below p times 2^53, for p from 0 to 1.
uvec2 threshold(float p) {
    uint bits = floatBitsToUint(p), exponent = max(bits >> 23, 1u);
    uint digits = (bits & 0x7fffffu) | (bits >> 23 != 0u ? 0x800000u : 0u);
    if (exponent < 97u) {
        uint down = min(97u - exponent, 31u);
        return uvec2(0u, (digits + (1u << down) - 1u) >> down);
    }
    uint up = exponent - 97u;
    return up == 0u ? uvec2(0u, digits) : uvec2(digits >> (32u - up), digits << up);
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    float p = LOAD(x[i]);
    uvec2 u = philox(i, key), t = threshold(p);
    bool below = u.x < t.x || u.x == t.x && u.y < t.y;
    y[i] = uint(!is_nan(p) && !is_negative(p) && (p >= 1.0 || below));
}
