// nbits_matrix computes the products of quant/nbits by cooperative matrices. Weights are rounded to
// the type of rows when they are staged. After the constants of matrix.glsl, LEFT_WORDS says
// whether rows are read by whole words; BITS_PER_CODE follows. A block has a multiple of eight
// columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "matrix.glsl"
#define BITS_ID 13
#include "nbits.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;

layout(std430, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
layout(std430, binding = 0) readonly buffer AWords { WORD a_words[]; };

#ifdef TYPE_BF16
#define BITS_OF_WEIGHT(v) bf16_bits(v)
#else
#define BITS_OF_WEIGHT(v) packHalf2x16(vec2(rounded_f16(v), 0.0))
#endif

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = gl_WorkGroupID.y * TILE_M + line, d = k0 + at, first = row * k + d;
    if (LEFT_WORDS != 0) return row < m && d < end ? a_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) e[i] = row < m && d + i < end ? uint(a_bits[first + i]) : 0u;
    return word_of(e);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = gl_WorkGroupID.x * TILE_N + line, d = k0 + at, b = d / block;
    if (col >= n || d >= end) return WORD(0);
    float scale = scale_of(col, b), zero = zero_of(col, b);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        uint code = codes[col * row_words + (d + i) / PER_WORD] >> (d + i) % PER_WORD * BITS_PER_CODE & MASK;
        e[i] = d + i < end ? BITS_OF_WEIGHT((float(code) - zero) * scale) : 0u;
    }
    return word_of(e);
}

void result(uint r, uint c, SUM sum) {
    uint row = gl_WorkGroupID.y * TILE_M + r, col = gl_WorkGroupID.x * TILE_N + c;
    if (row < m && col < n) take_sum(row, col, sum);
}

void main() { multiply(0, k); }
