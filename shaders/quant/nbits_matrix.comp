// nbits_matrix computes the products of quant/nbits by cooperative matrices. Weights are rounded to
// the type of rows when they are staged. After the constants of matrix.glsl, LEFT_WORDS says
// whether rows are read by whole words; BITS_PER_CODE, PARTS and WHOLE follow. A block has a
// multiple of eight columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define PARTIAL 6
#define PARTS_ID 14
#define WHOLE_ID 15
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

uint row0, col0;

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = row0 + line, d = k0 + at, first = row * k + d;
    if (LEFT_WORDS != 0) return WHOLE != 0 || row < m && d < end ? a_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) e[i] = row < m && d + i < end ? uint(a_bits[first + i]) : 0u;
    return word_of(e);
}

// EACH is the words of eight codes.
const uint EACH = (8 * BITS_PER_CODE + 31) / 32;

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = col0 + line, d = k0 + at, b = d / block;
    if (WHOLE == 0 && (col >= n || d >= end)) return WORD(0);
    float scale = scale_of(col, b), zero = zero_of(col, b);
    uint words[EACH], e[8];
    [[unroll]] for (uint i = 0; i < EACH; i++) words[i] = codes[col * row_words + d / PER_WORD + i] >> d % PER_WORD * BITS_PER_CODE;
    [[unroll]] for (uint i = 0; i < 8; i++) {
        uint code = words[i * BITS_PER_CODE / 32] >> i * BITS_PER_CODE % 32 & MASK;
        e[i] = WHOLE != 0 || d + i < end ? BITS_OF_WEIGHT((float(code) - zero) * scale) : 0u;
    }
    return word_of(e);
}

void result(uint r, uint c, SUM sum) {
    uint row = row0 + r, col = col0 + c;
    if (row < m && col < n) take_sum(row, col, sum);
}

void main() {
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    multiply_part(k, gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, gl_WorkGroupID.z);
}
