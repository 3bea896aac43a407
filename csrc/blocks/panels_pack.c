// Packing of blocks into panels.
#include "blocks/forms.h"
#include "blocks/unpack.h"
#include "core/simd.h"

// A block of one lane: codes as they are stored, and the numbers of its scales in their order.
typedef struct {
    uint8_t codes[NACRE_BLOCKS_ELEMENTS];
    uint16_t halves[2];
    uint8_t bytes[NACRE_BLOCKS_GROUPS];
} block_lane;

// ---- codes ----

// Codes of 4 bits: the low halves of n bytes, then the high ones.
static void cut_nibbles(const uint8_t *b, size_t n, uint8_t *codes) {
    for (size_t i = 0; i < n; i++) codes[i] = b[i] & 15;
    for (size_t i = 0; i < n; i++) codes[n + i] = b[i] >> 4;
}

// Adds bit i of 4 bytes to code i, as fifth bit.
static void cut_fifth(const uint8_t *b, uint8_t *codes) {
    const uint64_t ones = 0x0101010101010101;
    for (size_t i = 0; i < 4; i++, codes += 8) {
        // Byte j has bit j of b[i] alone. With 127 it reaches the top bit.
        const uint64_t bits = b[i] * ones & 0x8040201008040201;
        uint64_t eight;
        memcpy(&eight, codes, sizeof eight);
        eight |= ((bits + 127 * ones) & 128 * ones) >> 3;
        memcpy(codes, &eight, sizeof eight);
    }
}

// Adds `bits` bits, from bit `at` on, of 32 bytes to codes, as bits from bit `to` on.
static inline __attribute__((always_inline)) void cut_more(const uint8_t *b, size_t at, size_t bits, size_t to, uint8_t *codes) {
    const unsigned mask = (1u << bits) - 1;
    NACRE_SIMD for (size_t i = 0; i < 32; i++) codes[i] |= (uint8_t)((b[i] >> at & mask) << to);
}

// Codes of 2 bits: the lowest bits of n bytes, then the next ones.
static void cut_pairs(const uint8_t *b, size_t n, uint8_t *codes) {
    for (size_t at = 0; at < 8; at += 2) {
        for (size_t i = 0; i < n; i++) *codes++ = b[i] >> at & 3;
    }
}

// Codes of 8 numbers 8, 25 and 43 with signs: 0 to 2, and 4 for a minus.
static void cut_iq2(const int8_t *vector, unsigned signs, uint8_t *codes) {
    for (size_t i = 0; i < 8; i++) codes[i] = (uint8_t)(vector[i] >> 4 | (signs >> i & 1) << 2);
}

// Codes of 4 numbers from 4 to 62, or odd ones from 1 to 15, with signs: 0 to 7, and 8 for a minus.
static void cut_iq3(const int8_t *vector, unsigned signs, int bits, uint8_t *codes) {
    for (size_t i = 0; i < 4; i++) codes[i] = (uint8_t)(vector[i] >> bits | (signs >> i & 1) << 3);
}

static void cut_grids(size_t type, const uint8_t *b, const int8_t *book, uint8_t *codes) {
    for (size_t k = 0; k < 32; k++, codes += 8) {
        const uint8_t *const at = b + 2 + k / 4 * 8;  // of iq2_xxs
        const uint32_t pair = block_u16(b + 2 + 2 * k), signs3 = block_u32(b + 66 + k / 4 * 4) >> k % 4 * 7;
        switch (type) {
        case NACRE_BLOCK_iq2_xxs: cut_iq2(book + 8 * at[k % 4], block_signs(block_u32(at + 4) >> k % 4 * 7), codes); break;
        case NACRE_BLOCK_iq2_xs: cut_iq2(book + 8 * (pair & 511), block_signs(pair >> 9), codes); break;
        case NACRE_BLOCK_iq2_s: cut_iq2(book + 8 * (b[2 + k] | (size_t)(b[66 + k / 4] >> k % 4 * 2 & 3) << 8), b[34 + k], codes); break;
        case NACRE_BLOCK_iq3_xxs:
            cut_iq3(book + 8 * b[2 + 2 * k], block_signs(signs3), 3, codes);
            cut_iq3(book + 8 * b[3 + 2 * k], block_signs(signs3) >> 4, 3, codes + 4);
            break;
        case NACRE_BLOCK_iq3_s:
            cut_iq3(book + 8 * (b[2 + 2 * k] | (size_t)(b[66 + k / 4] >> k % 4 * 2 & 1) << 8), b[74 + k], 1, codes);
            cut_iq3(book + 8 * (b[3 + 2 * k] | (size_t)(b[66 + k / 4] >> k % 4 * 2 & 2) << 7), b[74 + k] >> 4, 1, codes + 4);
            break;
        }
    }
}

static void cut_codes(size_t type, const uint8_t *b, const int8_t *book, uint8_t *codes) {
    switch (type) {
    case NACRE_BLOCK_iq2_xxs:
    case NACRE_BLOCK_iq2_xs:
    case NACRE_BLOCK_iq2_s:
    case NACRE_BLOCK_iq3_xxs:
    case NACRE_BLOCK_iq3_s: cut_grids(type, b, book, codes); break;
    case NACRE_BLOCK_q4_0:
    case NACRE_BLOCK_iq4_nl: cut_nibbles(b + 2, 16, codes); break;
    case NACRE_BLOCK_q4_1: cut_nibbles(b + 4, 16, codes); break;
    case NACRE_BLOCK_mxfp4: cut_nibbles(b + 1, 16, codes); break;
    case NACRE_BLOCK_q5_0:
        cut_nibbles(b + 6, 16, codes);
        cut_fifth(b + 2, codes);
        break;
    case NACRE_BLOCK_q5_1:
        cut_nibbles(b + 8, 16, codes);
        cut_fifth(b + 4, codes);
        break;
    case NACRE_BLOCK_q8_0:
        for (size_t i = 0; i < 32; i++) codes[i] = b[2 + i] ^ 0x80;
        break;
    case NACRE_BLOCK_iq4_xs:
        for (size_t j = 0; j < 8; j++) cut_nibbles(b + 8 + 16 * j, 16, codes + 32 * j);
        break;
    case NACRE_BLOCK_nvfp4:
        for (size_t j = 0; j < 4; j++) cut_nibbles(b + 4 + 8 * j, 8, codes + 16 * j);
        break;
    case NACRE_BLOCK_q4_k:
        for (size_t j = 0; j < 4; j++) cut_nibbles(b + 16 + 32 * j, 32, codes + 64 * j);
        break;
    case NACRE_BLOCK_q5_k:
        for (size_t j = 0; j < 4; j++) cut_nibbles(b + 48 + 32 * j, 32, codes + 64 * j);
        for (size_t j = 0; j < 8; j++) cut_more(b + 16, j, 1, 4, codes + 32 * j);
        break;
    case NACRE_BLOCK_q6_k:
        for (size_t h = 0; h < 2; h++) cut_nibbles(b + 64 * h, 64, codes + 128 * h);
        for (size_t j = 0; j < 8; j++) cut_more(b + 128 + j / 4 * 32, j % 4 * 2, 2, 4, codes + 32 * j);
        break;
    case NACRE_BLOCK_q2_k:
        for (size_t h = 0; h < 2; h++) cut_pairs(b + 16 + 32 * h, 32, codes + 128 * h);
        break;
    case NACRE_BLOCK_q3_k:
        for (size_t h = 0; h < 2; h++) cut_pairs(b + 32 + 32 * h, 32, codes + 128 * h);
        for (size_t j = 0; j < 8; j++) cut_more(b, j, 1, 2, codes + 32 * j);
        break;
    case NACRE_BLOCK_tq2_0:
        for (size_t h = 0; h < 2; h++) cut_pairs(b + 32 * h, 32, codes + 128 * h);
        break;
    case NACRE_BLOCK_q2_0:
        for (size_t i = 0; i < 64; i++) codes[i] = b[2 + i / 4] >> i % 4 * 2 & 3;
        break;
    }
}

// ---- scales ----

static void cut_scales(size_t type, const uint8_t *b, block_lane *to) {
    switch (type) {
    case NACRE_BLOCK_q4_1:
    case NACRE_BLOCK_q5_1:
        to->halves[0] = block_u16(b);
        to->halves[1] = block_u16(b + 2);
        break;
    case NACRE_BLOCK_q2_k:
        to->halves[0] = block_u16(b + 80);
        to->halves[1] = block_u16(b + 82);
        memcpy(to->bytes, b, 16);
        break;
    case NACRE_BLOCK_q3_k:
        to->halves[0] = block_u16(b + 108);
        for (size_t j = 0; j < 16; j++) to->bytes[j] = (uint8_t)block_scale3(b + 96, j);
        break;
    case NACRE_BLOCK_q4_k:
    case NACRE_BLOCK_q5_k:
        to->halves[0] = block_u16(b);
        to->halves[1] = block_u16(b + 2);
        for (size_t j = 0; j < 8; j++) {
            to->bytes[j] = (uint8_t)block_scale_k(b + 4, j);
            to->bytes[8 + j] = (uint8_t)block_least_k(b + 4, j);
        }
        break;
    case NACRE_BLOCK_q6_k:
        to->halves[0] = block_u16(b + 208);
        memcpy(to->bytes, b + 192, 16);
        break;
    case NACRE_BLOCK_iq4_xs:
        to->halves[0] = block_u16(b);
        for (size_t j = 0; j < 8; j++) to->bytes[j] = (uint8_t)block_scale_xs(b, j);
        break;
    case NACRE_BLOCK_iq2_xxs:
        to->halves[0] = block_u16(b);
        for (size_t j = 0; j < 8; j++) to->bytes[j] = (uint8_t)(2 * (b[2 + 8 * j + 7] >> 4) + 1);
        break;
    case NACRE_BLOCK_iq2_xs:
    case NACRE_BLOCK_iq2_s: {
        const uint8_t *const nibbles = b + (type == NACRE_BLOCK_iq2_xs ? 66 : 74);
        to->halves[0] = block_u16(b);
        for (size_t j = 0; j < 16; j++) to->bytes[j] = (uint8_t)(2 * (nibbles[j / 2] >> j % 2 * 4 & 15) + 1);
        break;
    }
    case NACRE_BLOCK_iq3_xxs:
        to->halves[0] = block_u16(b);
        for (size_t j = 0; j < 8; j++) to->bytes[j] = (uint8_t)(4 * (b[66 + 4 * j + 3] >> 4) + 2);
        break;
    case NACRE_BLOCK_iq3_s:
        to->halves[0] = block_u16(b);
        for (size_t j = 0; j < 8; j++) to->bytes[j] = (uint8_t)(2 * (b[106 + j / 2] >> j % 2 * 4 & 15) + 1);
        break;
    case NACRE_BLOCK_mxfp4: to->halves[0] = (uint16_t)(b[0] < 2 ? 0x20 << b[0] : (b[0] - 1) << 7); break;
    case NACRE_BLOCK_nvfp4:
        for (size_t j = 0; j < 4; j++) to->bytes[j] = b[j] == 127 ? 0 : b[j] & 127;
        break;
    case NACRE_BLOCK_tq2_0: to->halves[0] = block_u16(b + 64); break;
    default: to->halves[0] = block_u16(b);
    }
}

// ---- panels ----

// Writes constant `bits` bits, from bit `at` on, of 32 codes of one lane.
static inline __attribute__((always_inline)) void put_bits(const uint8_t *codes, size_t at, size_t bits, size_t lanes, uint8_t *dst) {
    const size_t per = 8 / bits;
    const uint32_t mask = 0x01010101u * ((1u << bits) - 1);
    for (size_t step = 0; step < NACRE_BLOCKS_UNIT / 4; step += per, dst += 4 * lanes) {
        uint32_t word = 0;
        for (size_t s = 0; s < per; s++) {
            uint32_t four;
            memcpy(&four, codes + 4 * (step + s), sizeof four);
            word |= (four >> at & mask) << s * bits;
        }
        memcpy(dst, &word, sizeof word);
    }
}

static void put_unit(const nacre_block_form *f, const uint8_t *codes, size_t lanes, uint8_t *dst) {
    switch (f->low) {
    case 8: put_bits(codes, 0, 8, lanes, dst); break;
    case 4: put_bits(codes, 0, 4, lanes, dst); break;
    default: put_bits(codes, 0, 2, lanes, dst);
    }
    if (f->high == 0) return;
    dst += lanes * NACRE_BLOCKS_UNIT / 8 * f->low;
    if (f->high == 1) {
        put_bits(codes, f->low, 1, lanes, dst);
    } else {
        put_bits(codes, f->low, 2, lanes, dst);
    }
}

static void put_lane(const nacre_block_form *f, const block_lane *from, size_t lanes, size_t lane, uint8_t *slab) {
    for (size_t u = 0; u < f->units; u++, slab += nacre_block_unit(f, lanes)) {
        put_unit(f, from->codes + u * NACRE_BLOCKS_UNIT, lanes, slab + 4 * lane);
    }
    for (size_t i = 0; i < nacre_block_halves(f); i++, slab += 2 * lanes) memcpy(slab + 2 * lane, &from->halves[i], 2);
    for (size_t i = 0; i < nacre_block_bytes(f); i++, slab += lanes) slab[lane] = from->bytes[i];
}

void nacre_block_pack(size_t type, size_t lanes, size_t n, size_t k, const uint8_t *src, const int8_t *book, uint8_t *dst) {
    static const size_t bytes[] = {
#define NACRE_BLOCK_TYPE(name, elements, bytes) bytes,
#include "blocks/types.inc"
#undef NACRE_BLOCK_TYPE
    };
    const nacre_block_form *const f = &nacre_block_forms[type];
    const size_t count = k / nacre_block_depth(f), panel = nacre_block_panel(f, lanes, k), slab = nacre_block_slab(f, lanes);
    for (size_t j = 0; j < n; j++) {
        uint8_t *const to = dst + j / lanes * panel;
        if (j % lanes == 0 && n - j < lanes) memset(to, 0, panel);
        for (size_t s = 0; s < count; s++, src += bytes[type]) {
            block_lane lane;
            cut_codes(type, src, book, lane.codes);
            cut_scales(type, src, &lane);
            put_lane(f, &lane, lanes, j % lanes, to + s * slab);
        }
    }
}
