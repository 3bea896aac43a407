// inverse computes inverses of square matrices by elimination in float64, a matrix per invocation.
// The largest element of each column is the pivot. rest holds the matrices during elimination, and
// rows the row that was swapped with each.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) buffer Rest { double m[]; };
layout(std430, binding = 2) buffer Rows { uint rows[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint count, n; };

void swap(uint a, uint b) {
    double v = m[a];
    m[a] = m[b];
    m[b] = v;
}

void main() {
    uint lane = flat_index();
    if (lane >= count) return;
    uint at = lane * n * n;
    for (uint i = 0; i < n * n; i++) m[at + i] = double(LOAD(x[at + i]));
    for (uint k = 0; k < n; k++) {
        uint pivot = k;
        for (uint i = k + 1; i < n; i++) {
            if (abs(m[at + i * n + k]) > abs(m[at + pivot * n + k])) pivot = i;
        }
        for (uint j = 0; j < n && pivot != k; j++) swap(at + k * n + j, at + pivot * n + j);
        rows[lane * n + k] = pivot;
        double p = m[at + k * n + k];
        m[at + k * n + k] = 1.0lf;
        for (uint j = 0; j < n; j++) m[at + k * n + j] /= p;
        for (uint i = 0; i < n; i++) {
            double f = m[at + i * n + k];
            if (i == k) continue;
            m[at + i * n + k] = 0.0lf;
            for (uint j = 0; j < n; j++) m[at + i * n + j] -= f * m[at + k * n + j];
        }
    }
    // A swap of rows of the matrix is a swap of columns of its inverse.
    for (uint k = n; k-- > 0;) {
        uint row = rows[lane * n + k];
        for (uint i = 0; i < n && row != k; i++) swap(at + i * n + k, at + i * n + row);
    }
    for (uint i = 0; i < n * n; i++) y[at + i] = STORE(float(m[at + i]));
}
