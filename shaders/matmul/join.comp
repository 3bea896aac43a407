// join adds the sums of parts of products [batch,m,n] in order, an element per invocation: y =
// F(alpha * sum + beta * c). The parts follow each other in memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"

layout(std430, binding = 0) readonly buffer Sums { C sums[]; };
layout(std430, binding = 1) readonly buffer Add { T c[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, m, n, parts;
    uint c_row, c_col, c_batch;
    uint has_c;
    float alpha, beta;
    uint then;
    float p, q;
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint col = i % n, row = i / n % m, z = i / n / m;
    C sum = sums[i];
    for (uint part = 1; part < parts; part++) sum += sums[part * total + i];
    C v = SCALED(sum, alpha);
    if (has_c != 0) v += SCALED(LOAD(c[z * c_batch + row * c_row + col * c_col]), beta);
    y[i] = STORE(EPILOGUE(v, then, p, q));
}
