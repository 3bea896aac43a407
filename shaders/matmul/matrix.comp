// matrix computes the products of matmul/gemm by cooperative matrices. After the constants of
// matrix.glsl, LEFT_WORDS and RIGHT_WORDS say whether operands are read by whole words. If PARTS is
// above 1, workgroups write their sums one part after another, and matmul/join adds them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "matrix.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;
layout(constant_id = 13) const uint RIGHT_WORDS = 0;
layout(constant_id = 14) const uint PARTS = 1;

#include "epilogue.glsl"
#include "gemm.glsl"

layout(std430, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
layout(std430, binding = 0) readonly buffer AWords { WORD a_words[]; };
layout(std430, binding = 1) readonly buffer BBits { uint16_t b_bits[]; };
layout(std430, binding = 1) readonly buffer BWords { WORD b_words[]; };
layout(std430, binding = 4) writeonly buffer Sums { float sums_of_part[]; };

uint a_at, b_at;

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = gl_WorkGroupID.y * TILE_M + (LEFT_DOWN != 0 ? at : line), d = k0 + (LEFT_DOWN != 0 ? line : at);
    uint first = a_at + row * a_row + d * a_col;
    if (LEFT_WORDS != 0) return row < m && d < end ? a_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = LEFT_DOWN != 0 ? row + i < m && d < end : row < m && d + i < end;
        e[i] = inside ? uint(a_bits[first + i * (LEFT_DOWN != 0 ? a_row : a_col)]) : 0u;
    }
    return word_of(e);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = gl_WorkGroupID.x * TILE_N + (RIGHT_DOWN != 0 ? at : line), d = k0 + (RIGHT_DOWN != 0 ? line : at);
    uint first = b_at + d * b_row + col * b_col;
    if (RIGHT_WORDS != 0) return col < n && d < end ? b_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = RIGHT_DOWN != 0 ? col + i < n && d < end : col < n && d + i < end;
        e[i] = inside ? uint(b_bits[first + i * (RIGHT_DOWN != 0 ? b_col : b_row)]) : 0u;
    }
    return word_of(e);
}

void result(uint r, uint c, SUM sum) {
    uint row = gl_WorkGroupID.y * TILE_M + r, col = gl_WorkGroupID.x * TILE_N + c;
    if (row >= m || col >= n) return;
    uint at = (matrix() * m + row) * n + col;
    if (PARTS > 1) sums_of_part[part() * (gl_NumWorkGroups.z / PARTS) * m * n + at] = sum;
    else y[at] = STORE(EPILOGUE(with_addend(sum, row, col), then, p, q));
}

void main() {
    a_at = a_begin(matrix());
    b_at = b_begin(matrix());
    uint terms = (k + PARTS * TILE_K - 1) / (PARTS * TILE_K) * TILE_K, first = part() * terms;
    multiply(first, min(k, first + terms));
}
