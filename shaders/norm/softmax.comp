#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math.glsl"
#include "row.glsl"

// softmax computes softmax along the middle axis of [outer,n,inner], a lane per workgroup. MODE 0
// is softmax, and 1 its logarithm. MODE 2 gives 1 for the first of the greatest elements, else 0.

layout(constant_id = 3) const uint MODE = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint lanes, n, inner; };

uint at; // the first element of the lane
shared uint place;

float element(uint i) { return LOAD(x[at + i * inner]); }

// first_of returns the place of the first element that is top, or NaN if top is.
uint first_of(float top) {
    uint least = n;
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            if (own[k] == top || is_nan(own[k]) && is_nan(top)) least = min(least, index(first, k));
        }
    }
    if (gl_LocalInvocationID.x == 0) place = n;
    barrier();
    atomicMin(place, least);
    barrier();
    return place;
}

void main() {
    uint lane = flat_group();
    if (lane >= lanes) return;
    at = lane / inner * n * inner + lane % inner;
    float top = -INFINITY;
    for (uint first = 0; more(first, n); first += PIECE) {
        read(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            if (index(first, k) < n) top = max_nan(top, own[k]);
        }
    }
    top = greatest(top);
    uint hard = 0;
    float sum = 0.0;
    if (MODE == 2) hard = first_of(top);
    for (uint first = 0; MODE != 2 && more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            float e = m_exp(own[k] - top);
            if (index(first, k) < n) sum += e;
            if (KEEP != 0 && MODE == 0) own[k] = e;
        }
    }
    if (MODE != 2) sum = total(sum);
    float shift = MODE == 1 ? m_log(sum) : 0.0;
    for (uint first = 0; more(first, n); first += PIECE) {
        take(first, n);
        [[unroll]] for (uint k = 0; k < EACH; k++) {
            uint i = index(first, k);
            if (i >= n) continue;
            float v = own[k];
            if (MODE == 2) v = i == hard ? 1.0 : 0.0;
            else if (MODE == 1) v = v - top - shift;
            else v = (KEEP != 0 ? v : m_exp(v - top)) / sum;
            y[at + i * inner] = STORE(v);
        }
    }
}
