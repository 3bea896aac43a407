// packed computes products of matrices of integers of 1 to 16 bits, decoded in registers. An
// invocation computes a word of results, each of OUT_BITS, wrapped around. If OUT_BITS is 64, it
// computes one result of two words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "packed.glsl"

layout(constant_id = 1) const uint BITS = 4;
layout(constant_id = 2) const uint KIND = 0;
layout(constant_id = 3) const uint OUT_BITS = 32;

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) readonly buffer B { uint b[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words {
    uint total; // results
    uint m, n, k;
    uint a_row, a_col, b_row, b_col;
    uint batch1, batch2; // extents after the first
    uint a_batch[3], b_batch[3];
};

int product(uint at) {
    uint j = at % n, i = at / n % m, q = at / n / m, q2 = q % batch2, q1 = q / batch2 % batch1, q0 = q / batch2 / batch1;
    uint left = q0 * a_batch[0] + q1 * a_batch[1] + q2 * a_batch[2] + i * a_row;
    uint right = q0 * b_batch[0] + q1 * b_batch[1] + q2 * b_batch[2] + j * b_col;
    int sum = 0;
    for (uint p = 0; p < k; p++) sum += PACKED_OF(a, left + p * a_col, BITS, KIND) * PACKED_OF(b, right + p * b_row, BITS, KIND);
    return sum;
}

void main() {
    uint i = flat_index();
    if (OUT_BITS == 64) {
        if (i >= total) return;
        int v = product(i);
        y[2 * i] = uint(v);
        y[2 * i + 1] = KIND == KIND_UNSIGNED ? 0u : uint(v >> 31);
        return;
    }
    const uint each = 32 / OUT_BITS;
    if (i * each >= total) return;
    uint word = 0;
    for (uint e = 0; e < each && i * each + e < total; e++) {
        uint v = uint(product(i * each + e));
        word |= (OUT_BITS == 32 ? v : v & (1u << OUT_BITS % 32) - 1u) << e * OUT_BITS % 32;
    }
    y[i] = word;
}
