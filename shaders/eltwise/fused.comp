// fused computes a function of the sum or the product of two values, an element of the result per
// invocation. If FIRST is set, the function is applied to a before. b has `width` elements and repeats.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "unary_float.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;
layout(constant_id = 2) const uint PRODUCT = 0;
layout(constant_id = 3) const uint FIRST = 0;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint n, width;
    float p;
};

void main() {
    uint i = flat_index();
    if (i >= n) return;
    float u = LOAD(a[i]), v = LOAD(b[i % width]);
    if (FIRST != 0) u = unary(FUNCTION, u, p, 0.0);
    u = PRODUCT != 0 ? u * v : u + v;
    if (FIRST == 0) u = unary(FUNCTION, u, p, 0.0);
    y[i] = STORE(u);
}
