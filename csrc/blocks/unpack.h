// Parts of blocks, for all variants.
#ifndef NACRE_BLOCKS_UNPACK_H
#define NACRE_BLOCKS_UNPACK_H

#include "blocks/blocks.h"
#include "core/target.h"

#define BLOCK_PART static inline __attribute__((unused))

BLOCK_PART uint16_t block_u16(const uint8_t *b) { return (uint16_t)(b[0] | b[1] << 8); }

BLOCK_PART uint32_t block_u32(const uint8_t *b) { return block_u16(b) | (uint32_t)block_u16(b + 2) << 16; }

BLOCK_PART float block_half(const uint8_t *b) { return nacre_f16_to_f32(block_u16(b)); }

// Returns scale j of 16 in the 12 bytes of Q3_K.
BLOCK_PART int block_scale3(const uint8_t *s, size_t j) {
    return ((s[j % 8] >> j / 8 * 4 & 15) | (s[8 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
}

// block_scale_k and block_least_k return scale and least value j of 8 in the 12 bytes of Q4_K and
// Q5_K.
BLOCK_PART int block_scale_k(const uint8_t *s, size_t j) { return j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4; }

BLOCK_PART int block_least_k(const uint8_t *s, size_t j) { return j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4; }

// Returns scale j of 8 of a block of IQ4_XS.
BLOCK_PART int block_scale_xs(const uint8_t *b, size_t j) {
    return ((b[4 + j / 2] >> j % 2 * 4 & 15) | (block_u16(b + 2) >> 2 * j & 3) << 4) - 32;
}

// Returns 2^(e-128).
BLOCK_PART float block_half_e8m0(uint8_t e) { return nacre_float_of_bits(e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23); }

// Returns half of an E4M3 number without its sign, and 0 for the code 0x7f.
BLOCK_PART float block_half_e4m3(uint8_t code) {
    const unsigned exponent = code >> 3 & 15, fraction = code & 7;
    if (code == 0x7f) return 0;
    if (exponent == 0) return (float)fraction * 0x1p-10f;
    return nacre_float_of_bits((exponent + 119) << 23 | fraction << 20);
}

// Returns the signs of a vector from 7 bits; the eighth makes the number of minus signs even.
BLOCK_PART unsigned block_signs(uint32_t w) {
    const uint32_t k = w & 127;
    uint32_t odd = k ^ k >> 4;
    odd = 0x6996u >> (odd & 15) & 1;
    return k | odd << 7;
}

static const int8_t block_values_nl[16] __attribute__((unused)) = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t block_values_fp4[16] __attribute__((unused)) = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#endif
