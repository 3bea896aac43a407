// matrix computes the products of matmul/gemm by cooperative matrices. After the constants of
// matrix.glsl, LEFT_WORDS and RIGHT_WORDS say whether operands are read by whole words. With
// STRAIGHT, tiles are whole, results are alpha a b, and matrices of sums are converted to elements
// and stored.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define WHOLE_ID 15
#ifndef STRAIGHT
#define PARTIAL 4
#define PARTS_ID 14
#endif
#include "matrix.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;
layout(constant_id = 13) const uint RIGHT_WORDS = 0;

#ifdef STRAIGHT
const uint PARTS = 1;
#define SCALED(v, by) ((v) * (by))
#else
#include "epilogue.glsl"
#endif
#include "gemm.glsl"

layout(std430, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
layout(std430, binding = 0) readonly buffer AWords { WORD a_words[]; };
layout(std430, binding = 1) readonly buffer BBits { uint16_t b_bits[]; };
layout(std430, binding = 1) readonly buffer BWords { WORD b_words[]; };

uint a_at, b_at, row0, col0;

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = row0 + (LEFT_DOWN != 0 ? at : line), d = k0 + (LEFT_DOWN != 0 ? line : at);
    uint first = a_at + row * a_row + d * a_col;
    if (LEFT_WORDS != 0) return WHOLE != 0 || row < m && d < end ? a_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = LEFT_DOWN != 0 ? row + i < m && d < end : row < m && d + i < end;
        e[i] = inside ? uint(a_bits[first + i * (LEFT_DOWN != 0 ? a_row : a_col)]) : 0u;
    }
    return word_of(e);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = col0 + (RIGHT_DOWN != 0 ? at : line), d = k0 + (RIGHT_DOWN != 0 ? line : at);
    uint first = b_at + d * b_row + col * b_col;
    if (RIGHT_WORDS != 0) return WHOLE != 0 || col < n && d < end ? b_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        bool inside = RIGHT_DOWN != 0 ? col + i < n && d < end : col < n && d + i < end;
        e[i] = inside ? uint(b_bits[first + i * (RIGHT_DOWN != 0 ? b_col : b_row)]) : 0u;
    }
    return word_of(e);
}

#ifndef STRAIGHT
void result(uint r, uint c, SUM sum) {
    uint row = row0 + r, col = col0 + c;
    if (WHOLE != 0 || row < m && col < n) y[(matrix() * m + row) * n + col] = STORE(EPILOGUE(with_addend(sum, row, col), then, p, q));
}
#endif

void main() {
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    a_at = a_begin(matrix()), b_at = b_begin(matrix());
#ifdef STRAIGHT
    add_products(0, k);
    uint first = (matrix() * m + row0) * n + col0;
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) STORE_AS(float16_t, TIMES(sums[i], alpha), y, first + row_of(i) * n + col_of(i), n);
#else
    uint tile = (matrix() * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    multiply_part(k, tile, part());
#endif
}
