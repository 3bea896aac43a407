// matrix computes the products of quant/product by cooperative matrices. After the constants of
// matrix.glsl, LEFT_WORDS and RIGHT_WORDS say whether operands are read by whole words. The
// constants of product.glsl follow.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#define TYPE_I8
#include "matrix.glsl"
#define SIGNS 14
#include "product.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;
layout(constant_id = 13) const uint RIGHT_WORDS = 0;

layout(std430, binding = 0) readonly buffer AWords { uvec2 a_words[]; };
layout(std430, binding = 3) readonly buffer BWords { uvec2 b_words[]; };

uint q, a_at, b_at;

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = gl_WorkGroupID.y * TILE_M + (LEFT_DOWN != 0 ? at : line), d = k0 + (LEFT_DOWN != 0 ? line : at);
    uint first = a_at + row * a_row + d * a_col;
    if (LEFT_WORDS != 0) return row < m && d < end ? a_words[first / 8] ^ A_FLIP : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = LEFT_DOWN != 0 ? row + i < m && d < end : row < m && d + i < end;
        e[i] = inside ? BYTE_OF(a, first + i * (LEFT_DOWN != 0 ? a_row : a_col)) ^ (A_FLIP & 255u) : 0u;
    }
    return word_of(e);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = gl_WorkGroupID.x * TILE_N + (RIGHT_DOWN != 0 ? at : line), d = k0 + (RIGHT_DOWN != 0 ? line : at);
    uint first = b_at + d * b_row + col * b_col;
    if (RIGHT_WORDS != 0) return col < n && d < end ? b_words[first / 8] ^ B_FLIP : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = RIGHT_DOWN != 0 ? col + i < n && d < end : col < n && d + i < end;
        e[i] = inside ? BYTE_OF(b, first + i * (RIGHT_DOWN != 0 ? b_col : b_row)) ^ (B_FLIP & 255u) : 0u;
    }
    return word_of(e);
}

void result(uint r, uint c, SUM sum) {
    uint row = gl_WorkGroupID.y * TILE_M + r, col = gl_WorkGroupID.x * TILE_N + c;
    if (row < m && col < n) take_sum(q, row, col, sum, row_sums[r], column_sums[c]);
}

void main() {
    q = gl_WorkGroupID.z;
    a_at = a_begin(q);
    b_at = b_begin(q);
    multiply(0, k);
}
