// lp divides lanes of [outer,n,inner] by their norm of order ORDER, 1 or 2, a lane per workgroup.
// If the norm is 0, results are 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "row.glsl"

layout(constant_id = 3) const uint ORDER = 2;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

uint at; // the first element of the lane

float element(uint i) { return LOAD(x[at + i * inner]); }

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    at = lane / inner * n * inner + lane % inner;
    float sum = 0.0;
    for (uint first = 0; more(first, n); first += PIECE) {
        read(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) sum += ORDER == 1 ? magnitude(own[k]) : own[k] * own[k];
    }
    sum = total(sum);
    float norm = ORDER == 1 ? sum : sqrt(sum);
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            uint i = index(first, k);
            if (i < n) y[at + i * inner] = STORE(norm == 0.0 ? 0.0 : own[k] / norm);
        }
    }
}
