// det computes determinants of square matrices, a matrix per invocation. It eliminates with the
// largest element of each column as pivot. rest holds the matrices during elimination.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) buffer Rest { float m[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint count, n; };

void main() {
    uint lane = flat_index();
    if (lane >= count) return;
    uint at = lane * n * n;
    for (uint i = 0; i < n * n; i++) m[at + i] = LOAD(x[at + i]);
    float d = 1.0;
    for (uint k = 0; k < n && d != 0.0; k++) {
        uint pivot = k;
        for (uint i = k + 1; i < n; i++) {
            if (abs(m[at + i * n + k]) > abs(m[at + pivot * n + k])) pivot = i;
        }
        for (uint j = 0; j < n && pivot != k; j++) {
            float v = m[at + k * n + j];
            m[at + k * n + j] = m[at + pivot * n + j];
            m[at + pivot * n + j] = v;
        }
        if (pivot != k) d = -d;
        float p = m[at + k * n + k];
        d *= p;
        if (p == 0.0) break;
        for (uint i = k + 1; i < n; i++) {
            float f = m[at + i * n + k] / p;
            for (uint j = k + 1; j < n; j++) m[at + i * n + j] -= f * m[at + k * n + j];
        }
    }
    y[lane] = STORE(d);
}
