// Rows of int8, as bytes in words: the codes of a row, then a scale for each block of codes, a
// bfloat16. An element is its code times the scale of its block. A row begins at any byte.
#ifndef CODES_GLSL
#define CODES_GLSL

#include "quantized.glsl"

const uint BLOCK = 32; // codes of a block; the last one of a row may have fewer

uint blocks_of(uint size) { return (size + BLOCK - 1) / BLOCK; }

// row_bytes returns the bytes of a row of size elements.
uint row_bytes(uint size) { return size + 2 * blocks_of(size); }

// ROW_SCALE reads the scale of a block of the row of size elements at byte row.
#define ROW_SCALE(x, row, size, block) \
    float_of_bf16(BYTE_OF(x, (row) + (size) + 2 * (block)) | BYTE_OF(x, (row) + (size) + 2 * (block) + 1) << 8)

// codes_of returns the four codes of a word.
vec4 codes_of(uint word) {
    return vec4(code_of(word, 1), code_of(word >> 8, 1), code_of(word >> 16, 1), code_of(word >> 24, 1));
}

// CODES_OF returns codes i to i + 3 of the row of size elements at byte row. Codes past the end are
// any numbers. No word is read that has none of the row.
#define CODES_OF(x, row, size, i) \
    codes_of((x)[((row) + (i)) / 4] >> ((row) + (i)) % 4 * 8 | \
             (x)[((row) + min((i) + 3, row_bytes(size) - 1)) / 4] << 31 - ((row) + (i)) % 4 * 8 << 1)

#endif
