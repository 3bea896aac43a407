// matrix computes the products of quant/product by cooperative matrices. After the constants of
// matrix.glsl, LEFT_WORDS and RIGHT_WORDS say whether operands are read by whole words. The
// constants of product.glsl follow. SUMS has bit 0 if the sums of rows' codes are given, and bit 1
// if the ones of columns' are; they are not needed where a zero point is 0. With STRAIGHT, tiles are
// whole, results are the sums, and matrices of sums are stored.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#define TYPE_I8
#define WHOLE_ID 19
#ifndef STRAIGHT
#define PARTIAL 13
#define PARTS_ID 18
#endif
#include "matrix.glsl"
#define SIGNS 14
#include "product.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;
layout(constant_id = 13) const uint RIGHT_WORDS = 0;

layout(constant_id = 20) const uint SUMS = 0;

#ifdef STRAIGHT
const uint PARTS = 1;
#endif

layout(std430, binding = 0) readonly buffer AWords { WORD a_words[]; };
layout(std430, binding = 3) readonly buffer BWords { WORD b_words[]; };
layout(std430, binding = 11) readonly buffer RowSums { int row_sums[]; };
layout(std430, binding = 12) readonly buffer ColumnSums { int column_sums[]; };

uint a_at, b_at, row0, col0;

// matrix returns the workgroup's matrix of the batch, and part its part of the k axis.
uint matrix() { return gl_WorkGroupID.z / PARTS; }
uint part() { return gl_WorkGroupID.z % PARTS; }

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = row0 + (LEFT_DOWN != 0 ? at : line), d = k0 + (LEFT_DOWN != 0 ? line : at);
    uint first = a_at + row * a_row + d * a_col;
    if (LEFT_WORDS != 0) return WHOLE != 0 || row < m && d < end ? a_words[first / PER] ^ A_FLIP : WORD(0);
    uint e[PER];
    [[unroll]] for (uint i = 0; i < PER; i++) {
        bool inside = LEFT_DOWN != 0 ? row + i < m && d < end : row < m && d + i < end;
        e[i] = inside ? BYTE_OF(a, first + i * (LEFT_DOWN != 0 ? a_row : a_col)) ^ (A_FLIP & 255u) : 0u;
    }
    return word_of(e);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = col0 + (RIGHT_DOWN != 0 ? at : line), d = k0 + (RIGHT_DOWN != 0 ? line : at);
    uint first = b_at + d * b_row + col * b_col;
    if (RIGHT_WORDS != 0) return WHOLE != 0 || col < n && d < end ? b_words[first / PER] ^ B_FLIP : WORD(0);
    uint e[PER];
    [[unroll]] for (uint i = 0; i < PER; i++) {
        bool inside = RIGHT_DOWN != 0 ? col + i < n && d < end : col < n && d + i < end;
        e[i] = inside ? BYTE_OF(b, first + i * (RIGHT_DOWN != 0 ? b_col : b_row)) ^ (B_FLIP & 255u) : 0u;
    }
    return word_of(e);
}

#ifndef STRAIGHT
void result(uint r, uint c, SUM sum) {
    uint row = row0 + r, col = col0 + c;
    if (row >= m || col >= n) return;
    int row_sum = (SUMS & 1) != 0 ? row_sums[a_lane(matrix(), row)] : 0;
    int column_sum = (SUMS & 2) != 0 ? column_sums[b_lane(matrix(), col)] : 0;
    take_sum(matrix(), row, col, sum, row_sum, column_sum);
}
#endif

void main() {
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    a_at = a_begin(matrix()), b_at = b_begin(matrix());
#ifdef STRAIGHT
    add_products(0, k);
    uint first = (matrix() * m + row0) * n + col0;
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) STORE_AS(int, sums[i], y, first + row_of(i) * n + col_of(i), n);
#else
    uint tile = (matrix() * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    multiply_part(k, tile, part());
#endif
}
