// Puts the blocks of four lanes into a slab of a panel.
#ifndef NACRE_BLOCKS_PANELS_PUT_H
#define NACRE_BLOCKS_PANELS_PUT_H

#include "blocks/panels.h"
#include "blocks/quads.h"
#include "blocks/unpack.h"

// ---- codes ----

// Writes a unit of 16 bytes. Their lower halves are the first codes.
NACRE_INLINE void put_halves(quad_blocks b, size_t at, quad_words t) {
    quad q[4];
    quad_load(b, at, q);
    quad_transpose(q, 4);
    quad_transpose(q + 2, 4);
    quad_store(t, 0, q[0]);
    quad_store(t, 1, q[2]);
    quad_store(t, 2, q[1]);
    quad_store(t, 3, q[3]);
}

// Writes bits of 8/bits units that are `apart` words from each other, from word `first` on: for
// unit i, part i of constant `bits` bits of 32 bytes.
NACRE_INLINE void put_parts(quad_blocks b, size_t at, int bits, quad_words t, size_t first, size_t apart) {
    quad q[8];
    quad_load(b, at, q);
    quad_load(b, at + 16, q + 4);
    const size_t units = 8 / (size_t)bits;
    QUAD_UNROLL for (size_t w = 0; w < (size_t)bits; w++) {
        quad_transpose(q + w * units, bits);
        QUAD_UNROLL for (size_t u = 0; u < units; u++) quad_store(t, first + u * apart + w, q[w * units + u]);
    }
}

// Writes a word of single bits of a unit: bit i of the file's word is for code i.
NACRE_INLINE void put_bits(quad_blocks b, size_t at, quad_words t, size_t word) {
    quad q = quad_word(b, at);
    q = quad_exchange(q, 14, 0x0000cccc);
    q = quad_exchange(q, 7, 0x00aa00aa);
    q = quad_exchange(q, 2, 0x0c0c0c0c);
    q = quad_exchange(q, 1, 0x22222222);
    quad_store(t, word, q);
}

// Writes the codes of blocks of a constant type of up to 128 elements.
NACRE_INLINE void put_small_codes(size_t type, quad_blocks b, quad_words t) {
    switch (type) {
    case NACRE_BLOCK_q4_0:
    case NACRE_BLOCK_iq4_nl: put_halves(b, 2, t); break;
    case NACRE_BLOCK_q4_1: put_halves(b, 4, t); break;
    case NACRE_BLOCK_mxfp4: put_halves(b, 1, t); break;
    case NACRE_BLOCK_q5_0:
        put_halves(b, 6, t);
        put_bits(b, 2, t, 4);
        break;
    case NACRE_BLOCK_q5_1:
        put_halves(b, 8, t);
        put_bits(b, 4, t, 4);
        break;
    case NACRE_BLOCK_q8_0: {
        quad q[8];
        quad_load(b, 2, q);
        quad_load(b, 18, q + 4);
        QUAD_UNROLL for (size_t w = 0; w < 8; w++) quad_store(t, w, q[w] ^ 0x80808080);
        break;
    }
    case NACRE_BLOCK_nvfp4:
        for (size_t u = 0; u < 2; u++, t.to += 4 * t.step) {
            quad q[4];
            quad_load(b, 4 + 16 * u, q);
            quad_transpose(q, 4);
            quad_transpose(q + 2, 4);
            QUAD_UNROLL for (size_t w = 0; w < 4; w++) quad_store(t, w, q[w]);
        }
        break;
    case NACRE_BLOCK_q1_0:
        for (size_t u = 0; u < 4; u++) put_bits(b, 2 + 4 * u, t, u);
        break;
    case NACRE_BLOCK_q2_0: {
        // Bytes have the four codes of a word.
        quad q[4];
        quad_load(b, 2, q);
        QUAD_UNROLL for (size_t w = 0; w < 4; w++) {
            quad_store(t, w, quad_exchange(quad_exchange(q[w], 6, 0x00cc00cc), 12, 0x0000f0f0));
        }
        break;
    }
    }
}

// Returns bit i of 8 as the lowest bit of byte i.
NACRE_INLINE uint64_t spread(unsigned bits) {
    const uint64_t ones = 0x0101010101010101;
    // Byte i has bit i alone. With 127 it reaches the top bit.
    return ((bits * ones & 0x8040201008040201) + 127 * ones) >> 7 & ones;
}

// Returns codes of 8 numbers 8, 25 and 43 with signs: 0 to 2, and 4 for a minus.
NACRE_INLINE uint64_t cut_iq2(const int8_t *book, size_t i, unsigned signs) {
    uint64_t v;
    memcpy(&v, book + 8 * i, sizeof v);
    return (v >> 4 & 0x0303030303030303) | spread(signs & 255) << 2;
}

// Returns codes of two times 4 numbers from 4 to 62, or odd ones from 1 to 15, with signs: 0 to 7,
// and 8 for a minus.
NACRE_INLINE uint64_t cut_iq3(const int8_t *book, size_t i, size_t j, unsigned signs, int bits) {
    uint32_t v, w;
    memcpy(&v, book + 8 * i, sizeof v);
    memcpy(&w, book + 8 * j, sizeof w);
    return ((v | (uint64_t)w << 32) >> bits & 0x0707070707070707) | spread(signs & 255) << 3;
}

// Returns the two higher bits, lowest, of the indices of codes 8*k on of IQ2_S and IQ3_S.
NACRE_INLINE uint32_t cut_more(const uint8_t *b, size_t k) { return (uint32_t)b[66 + k / 4] >> k % 4 * 2; }

// Returns codes of 8 numbers -1, 0 and 1 plus an eighth, or less one: the lowest two bits of the
// number, and 4 for a minus.
NACRE_INLINE uint64_t cut_iq1(const int8_t *book, size_t i, int minus) {
    uint64_t v;
    memcpy(&v, book + 8 * i, sizeof v);
    return (v & 0x0303030303030303) | (minus ? 0x0404040404040404 : 0);
}

static uint64_t cut_iq1_s(const uint8_t *b, const int8_t *book, size_t k) {
    const uint32_t w = block_u16(b + 34 + k / 4 * 2);
    return cut_iq1(book, b[2 + k] | (size_t)(w >> k % 4 * 3 & 7) << 8, w >> 15 != 0);
}

static uint64_t cut_iq1_m(const uint8_t *b, const int8_t *book, size_t k) {
    const unsigned high = b[32 + k / 2] >> k % 2 * 4 & 15;
    return cut_iq1(book, b[k] | (size_t)(high & 7) << 8, (high & 8) != 0);
}

// Sets codes to the digits of a block of tq1_0. A byte has one digit of each of five codes.
static void cut_ternary(const uint8_t *b, uint8_t *codes) {
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    static const struct {
        uint8_t at, count, digits;
    } parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        for (size_t d = 0; d < parts[p].digits; d++) {
            for (size_t i = 0; i < parts[p].count; i++) *codes++ = (uint8_t)((uint8_t)(b[parts[p].at + i] * powers[d]) * 3 >> 8);
        }
    }
}

// Returns codes 8*k on of a block of iq2 or iq3.
static uint64_t cut_book(size_t type, const uint8_t *b, const int8_t *book, size_t k) {
    const uint8_t *const at = b + 2 + k / 4 * 8;  // of iq2_xxs
    const uint32_t pair = block_u16(b + 2 + 2 * k);
    switch (type) {
    case NACRE_BLOCK_iq2_xxs: return cut_iq2(book, at[k % 4], block_signs(block_u32(at + 4) >> k % 4 * 7));
    case NACRE_BLOCK_iq2_xs: return cut_iq2(book, pair & 511, block_signs(pair >> 9));
    case NACRE_BLOCK_iq2_s: return cut_iq2(book, b[2 + k] | (cut_more(b, k) & 3) << 8, b[34 + k]);
    case NACRE_BLOCK_iq3_xxs:
        return cut_iq3(book, pair & 255, pair >> 8, block_signs(block_u32(b + 66 + k / 4 * 4) >> k % 4 * 7), 3);
    default: {
        const uint32_t more = cut_more(b, k);
        return cut_iq3(book, (pair & 255) | (more & 1) << 8, pair >> 8 | (more & 2) << 7, b[74 + k], 1);
    }
    }
}

// Writes the codes of blocks whose codes are not parts of their bytes.
static void put_cut(size_t type, quad_blocks b, const int8_t *book, quad_words t) {
    uint8_t codes[QUAD][NACRE_BLOCKS_ELEMENTS];
    const int ternary = type == NACRE_BLOCK_tq1_0;
    for (size_t l = 0; l < QUAD; l++) {
        if (ternary) cut_ternary(b[l], codes[l]);
        for (size_t k = 0; k < NACRE_BLOCKS_ELEMENTS / 8 && !ternary; k++) {
            const uint64_t v = type == NACRE_BLOCK_iq1_s   ? cut_iq1_s(b[l], book, k)
                               : type == NACRE_BLOCK_iq1_m ? cut_iq1_m(b[l], book, k)
                                                           : cut_book(type, b[l], book, k);
            memcpy(codes[l] + 8 * k, &v, sizeof v);
        }
    }
    const quad_blocks at = {codes[0], codes[1], codes[2], codes[3]};
    const int thick = type == NACRE_BLOCK_iq3_xxs || type == NACRE_BLOCK_iq3_s;
    for (size_t u = 0; u < NACRE_BLOCKS_ELEMENTS; u += NACRE_BLOCKS_UNIT) {
        quad q[8];
        quad_load(at, u, q);
        quad_load(at, u + 16, q + 4);
        if (thick) {
            QUAD_UNROLL for (size_t w = 0; w < 4; w++) quad_store(t, w, quad_join(q + 2 * w, 2, 4));
            t.to += 4 * t.step;
        } else {
            quad_store(t, 0, quad_join(q, 4, 2));
            quad_store(t, 1, quad_join(q + 4, 4, 2));
            t.to += 2 * t.step;
            if (ternary) continue;
            QUAD_UNROLL for (size_t w = 0; w < 8; w++) q[w] >>= 2;
            quad_store(t, 0, quad_join(q, 8, 1));
            t.to += t.step;
        }
    }
}

// Writes the codes of blocks of 256 elements.
static void put_large_codes(size_t type, quad_blocks b, const int8_t *book, quad_words t) {
    switch (type) {
    case NACRE_BLOCK_iq4_xs:
        for (size_t u = 0; u < 8; u++, t.to += 4 * t.step) put_halves(b, 8 + 16 * u, t);
        break;
    case NACRE_BLOCK_q4_k:
        for (size_t i = 0; i < 4; i++, t.to += 8 * t.step) put_parts(b, 16 + 32 * i, 4, t, 0, 4);
        break;
    case NACRE_BLOCK_q5_k:
        put_parts(b, 16, 1, t, 4, 5);
        for (size_t i = 0; i < 4; i++, t.to += 10 * t.step) put_parts(b, 48 + 32 * i, 4, t, 0, 5);
        break;
    case NACRE_BLOCK_q6_k:
        for (size_t h = 0; h < 2; h++, t.to += 24 * t.step) {
            put_parts(b, 64 * h, 4, t, 0, 12);
            put_parts(b, 64 * h + 32, 4, t, 6, 12);
            put_parts(b, 128 + 32 * h, 2, t, 4, 6);
        }
        break;
    case NACRE_BLOCK_q2_k:
        for (size_t h = 0; h < 2; h++, t.to += 8 * t.step) put_parts(b, 16 + 32 * h, 2, t, 0, 2);
        break;
    case NACRE_BLOCK_q3_k:
        put_parts(b, 0, 1, t, 2, 3);
        for (size_t h = 0; h < 2; h++, t.to += 12 * t.step) put_parts(b, 32 + 32 * h, 2, t, 0, 3);
        break;
    case NACRE_BLOCK_tq2_0:
        for (size_t h = 0; h < 2; h++, t.to += 8 * t.step) put_parts(b, 32 * h, 2, t, 0, 2);
        break;
    default: put_cut(type, b, book, t);
    }
}

// ---- scales ----

// Writes a number of 16 bits from byte `at` of the blocks, and returns the place of the next one.
NACRE_INLINE uint8_t *put_half(quad_blocks b, size_t at, size_t lanes, uint8_t *to) {
    QUAD_UNROLL for (size_t l = 0; l < QUAD; l++) memcpy(to + 2 * l, b[l] + at, 2);
    return to + 2 * lanes;
}

// Writes the bytes of n words as 4*n numbers.
NACRE_INLINE void put_bytes(const quad *q, size_t n, size_t lanes, uint8_t *to) {
    QUAD_UNROLL for (size_t i = 0; i < n; i++) {
        const quad turned = quad_turn(q[i]);
        QUAD_UNROLL for (size_t j = 0; j < 4; j++, to += lanes) {
            const uint32_t lane = turned[j];
            memcpy(to, &lane, sizeof lane);
        }
    }
}

// Subtracts 32 from each byte.
NACRE_INLINE quad less_32(quad q) { return (quad)((quad_bytes)q - 32); }

// Sets bytes to the scales of a block of numbers from a code book.
static void cut_book_scales(size_t type, const uint8_t *b, uint8_t *bytes) {
    const uint8_t *const nibbles = b + (type == NACRE_BLOCK_iq2_xs ? 66 : type == NACRE_BLOCK_iq2_s ? 74 : 106);
    for (size_t j = 0; j < 8; j++) {
        switch (type) {
        case NACRE_BLOCK_iq1_s: bytes[j] = (uint8_t)(2 * (b[35 + 2 * j] >> 4 & 7) + 1); break;
        case NACRE_BLOCK_iq1_m:
            for (size_t i = 2 * j; i < 2 * j + 2; i++) bytes[i] = (uint8_t)(2 * (block_u16(b + 48 + i / 4 * 2) >> i % 4 * 3 & 7) + 1);
            break;
        case NACRE_BLOCK_iq2_xxs: bytes[j] = (uint8_t)(2 * (b[2 + 8 * j + 7] >> 4) + 1); break;
        case NACRE_BLOCK_iq3_xxs: bytes[j] = (uint8_t)(4 * (b[66 + 4 * j + 3] >> 4) + 2); break;
        case NACRE_BLOCK_iq3_s: bytes[j] = (uint8_t)(2 * (nibbles[j / 2] >> j % 2 * 4 & 15) + 1); break;
        default:
            bytes[2 * j] = (uint8_t)(2 * (nibbles[j] & 15) + 1);
            bytes[2 * j + 1] = (uint8_t)(2 * (nibbles[j] >> 4) + 1);
        }
    }
}

// Writes the scales of blocks of a constant type of up to 128 elements, to a slab's scales from a
// lane on.
NACRE_INLINE void put_small_scales(size_t type, quad_blocks b, size_t lanes, size_t lane, uint8_t *scales) {
    uint8_t *const to = scales + 2 * lane;
    switch (type) {
    case NACRE_BLOCK_q4_1:
    case NACRE_BLOCK_q5_1: put_half(b, 2, lanes, put_half(b, 0, lanes, to)); break;
    case NACRE_BLOCK_nvfp4: {
        quad q = quad_word(b, 0);
        q &= 0x7f7f7f7f & (quad)((quad_bytes)q != 127);
        put_bytes(&q, 1, lanes, to - lane);
        break;
    }
    case NACRE_BLOCK_mxfp4:
        for (size_t l = 0; l < QUAD; l++) {
            const uint8_t e = *b[l];
            const uint16_t d = (uint16_t)(e < 2 ? 0x20 << e : (e - 1) << 7);
            memcpy(to + 2 * l, &d, sizeof d);
        }
        break;
    default: put_half(b, 0, lanes, to);
    }
}

// Writes the scales of blocks of 256 elements.
static void put_large_scales(size_t type, quad_blocks b, size_t lanes, size_t lane, uint8_t *scales) {
    const uint32_t m4 = 0x0f0f0f0f, m2 = 0x03030303;
    uint8_t *const halves = scales + 2 * lane;
    quad q[4];
    switch (type) {
    case NACRE_BLOCK_tq1_0: put_half(b, 52, lanes, halves); break;
    case NACRE_BLOCK_tq2_0: put_half(b, 64, lanes, halves); break;
    case NACRE_BLOCK_q2_k:
        quad_load(b, 0, q);
        put_bytes(q, 4, lanes, put_half(b, 82, lanes, put_half(b, 80, lanes, halves)) - lane);
        break;
    case NACRE_BLOCK_q3_k: {
        quad_load(b, 92, q);
        const quad low = q[1], high = q[2], top = q[3];
        q[0] = less_32((low & m4) | (top & m2) << 4);
        q[1] = less_32((high & m4) | (top >> 2 & m2) << 4);
        q[2] = less_32((low >> 4 & m4) | (top >> 4 & m2) << 4);
        q[3] = less_32((high >> 4 & m4) | (top >> 6 & m2) << 4);
        put_bytes(q, 4, lanes, put_half(b, 108, lanes, halves) - lane);
        break;
    }
    case NACRE_BLOCK_q4_k:
    case NACRE_BLOCK_q5_k: {
        quad_load(b, 0, q);
        const quad scale = q[1], least = q[2], both = q[3];
        q[0] = scale & 0x3f3f3f3f;
        q[1] = (both & m4) | (scale >> 6 & m2) << 4;
        q[2] = least & 0x3f3f3f3f;
        q[3] = (both >> 4 & m4) | (least >> 6 & m2) << 4;
        put_bytes(q, 4, lanes, put_half(b, 2, lanes, put_half(b, 0, lanes, halves)) - lane);
        break;
    }
    case NACRE_BLOCK_q6_k:
        quad_load(b, 192, q);
        put_bytes(q, 4, lanes, put_half(b, 208, lanes, halves) - lane);
        break;
    case NACRE_BLOCK_iq4_xs: {
        const quad top = quad_word(b, 0) >> 16, low = quad_word(b, 4);
        for (int i = 0; i < 2; i++) {
            quad x = low >> 16 * i & 0xffff, y = top >> 8 * i & 0xff;
            x = (x | x << 8) & 0x00ff00ff;
            x = (x | x << 4) & m4;
            y = (y | y << 12) & 0x000f000f;
            y = (y | y << 6) & m2;
            q[i] = less_32(x | y << 4);
        }
        put_bytes(q, 2, lanes, put_half(b, 0, lanes, halves) - lane);
        break;
    }
    default: {
        uint8_t bytes[QUAD][NACRE_BLOCKS_GROUPS] = {{0}};
        for (size_t l = 0; l < QUAD; l++) cut_book_scales(type, b[l], bytes[l]);
        const quad_blocks at = {bytes[0], bytes[1], bytes[2], bytes[3]};
        quad_load(at, 0, q);
        put_bytes(q, nacre_block_groups(&nacre_block_forms[type]) / 4, lanes, put_half(b, 0, lanes, halves) - lane);
        for (size_t l = 0; l < QUAD && type == NACRE_BLOCK_iq1_m; l++) {
            const uint8_t *const d = b[l] + 49;  // in the top halves of every second byte
            const uint16_t half = (uint16_t)(d[0] >> 4 | d[2] >> 4 << 4 | d[4] >> 4 << 8 | d[6] >> 4 << 12);
            memcpy(halves + 2 * l, &half, sizeof half);
        }
    }
    }
}

#endif
