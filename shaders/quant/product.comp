// product computes products of matrices of 8-bit codes, four neighbouring columns of a row per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#define SIGNS 1
#include "product.glsl"
#include "dot.glsl"

// word_a returns four signed codes of a, from index p along k on. Codes past the end are 0.
uint word_a(uint at, uint p) {
    uint w = 0;
    for (uint i = 0; i < 4 && p + i < k; i++) w |= (BYTE_OF(a, at + (p + i) * a_col) ^ (A_FLIP & 255u)) << 8 * i;
    return w;
}

uint word_b(uint at, uint p) {
    uint w = 0;
    for (uint i = 0; i < 4 && p + i < k; i++) w |= (BYTE_OF(b, at + (p + i) * b_row) ^ (B_FLIP & 255u)) << 8 * i;
    return w;
}

void main() {
    uint quads = (n + 3) / 4, lane = flat_index(), j0 = lane % quads * 4, i = lane / quads % m, q = lane / quads / m;
    uint a_at = a_begin(q) + i * a_row, b_at = b_begin(q), count = min(4, n - min(n, j0));
    int sums[4] = int[4](0, 0, 0, 0), columns[4] = int[4](0, 0, 0, 0), row = 0;
    for (uint p = 0; p < k; p += 4) {
        uint v = word_a(a_at, p);
        row = dot4(v, 0x01010101u, row);
        [[unroll]] for (uint c = 0; c < 4; c++) {
            if (c >= count) continue;
            uint w = word_b(b_at + (j0 + c) * b_col, p);
            sums[c] = dot4(v, w, sums[c]);
            columns[c] = dot4(0x01010101u, w, columns[c]);
        }
    }
    [[unroll]] for (uint c = 0; c < 4; c++) {
        if (c < count) take_sum(q, i, j0 + c, sums[c], row, columns[c]);
    }
}
