// Weights in blocks of GGUF, read as they are stored; csrc/blocks has the formulas. Constant TYPE is
// a row of csrc/blocks/types.inc. A block is UNITS units of 32 elements, and begins at any byte.
// BLOCKS_ID is the id of the first of the constants.
#ifndef BLOCKS_GLSL
#define BLOCKS_GLSL

#include "run.glsl"

layout(constant_id = BLOCKS_ID) const uint TYPE = 0;
layout(constant_id = BLOCKS_ID + 1) const uint BYTES = 18; // of a block
layout(constant_id = BLOCKS_ID + 2) const uint UNITS = 1;

layout(std430, binding = 1) readonly buffer Blocks { uint blocks[]; };

const uint Q4_0 = 0, Q4_1 = 1, Q5_0 = 2, Q5_1 = 3, Q8_0 = 4, Q2_K = 5, Q3_K = 6, Q4_K = 7, Q5_K = 8, Q6_K = 9;
const uint IQ4_NL = 14, IQ4_XS = 17, TQ2_0 = 20, MXFP4 = 21, NVFP4 = 22, Q2_0 = 24;

uint byte_at(uint at) { return blocks[at / 4] >> at % 4 * 8 & 255u; }
int signed_at(uint at) { return int(byte_at(at) << 24) >> 24; }

uint word_at(uint at) {
    uint shift = at % 4 * 8, w = blocks[at / 4];
    return shift == 0 ? w : w >> shift | blocks[at / 4 + 1] << 32 - shift;
}

// half_at returns the float16 at an even byte. Tiny ones count too.
float half_at(uint at) {
    uint bits = blocks[at / 4] >> at % 4 * 8 & 0xffffu, rest = bits & 0x7fffu, sign = bits >> 15 << 31;
    if (rest < 0x400u) return uintBitsToFloat(sign | floatBitsToUint(float(rest) * 5.9604644775390625e-08));
    uint wide = rest << 13;
    return uintBitsToFloat(sign | (rest < 0x7c00u ? wide + 0x38000000u : wide | 0x7f800000u));
}

// words_at returns the 16 bytes at an even or odd byte.
uvec4 words_at(uint at) {
    uint from = at / 4, shift = at % 4 * 8;
    uvec4 low = uvec4(blocks[from], blocks[from + 1], blocks[from + 2], blocks[from + 3]);
    uint last = blocks[from + (shift == 0 ? 3 : 4)];
    return low >> shift | uvec4(low.yzw, last) << 1 << 31 - shift;
}

// spread moves the 16 lowest bits of x to the lowest bits of 16 bytes.
uvec4 spread(uint x) {
    uvec4 v = uvec4(x, x >> 4, x >> 8, x >> 12);
    return v & 1u | (v & 2u) << 7 | (v & 4u) << 14 | (v & 8u) << 21;
}

// spread_pairs moves the four lowest pairs of bits of each word to the lowest bits of four bytes.
uvec4 spread_pairs(uvec4 v) { return v & 3u | (v & 12u) << 6 | (v & 48u) << 12 | (v & 192u) << 18; }

// Codes are the codes of a unit as bytes, by halves.
struct Codes { uvec4 low, high; };

const uint ONES = 0x01010101u, PAIRS = 0x03030303u, NIBBLES = 0x0f0f0f0fu;

// nibbles returns codes whose first half is in the low bits of 16 bytes.
Codes nibbles(uvec4 v) { return Codes(v & NIBBLES, v >> 4 & NIBBLES); }

// pairs_at and nibbles_at return the bits of 32 bytes from `shift` on.
Codes pairs_at(uint at, uint shift) { return Codes(words_at(at) >> shift & PAIRS, words_at(at + 16) >> shift & PAIRS); }
Codes nibbles_at(uint at, uint shift) { return Codes(words_at(at) >> shift & NIBBLES, words_at(at + 16) >> shift & NIBBLES); }

// over returns codes with more bits above them.
Codes over(Codes v, uvec4 low, uvec4 high, uint shift) { return Codes(v.low | low << shift, v.high | high << shift); }

// codes_at returns the codes of unit u of the block at byte b.
Codes codes_at(uint b, uint u) {
    uint side = u / 4, quarter = u % 4; // of 256 elements
    switch (TYPE) {
    case Q4_0:
    case IQ4_NL: return nibbles(words_at(b + 2));
    case Q4_1: return nibbles(words_at(b + 4));
    case Q5_0:
    case Q5_1: {
        uint at = TYPE == Q5_0 ? b + 2 : b + 4, bits = word_at(at);
        return over(nibbles(words_at(at + 4)), spread(bits), spread(bits >> 16), 4);
    }
    case Q8_0: return Codes(words_at(b + 2) ^ 0x80808080u, words_at(b + 18) ^ 0x80808080u);
    case Q2_K: return pairs_at(b + 16 + 32 * side, 2 * quarter);
    case Q3_K: return over(pairs_at(b + 32 + 32 * side, 2 * quarter), words_at(b) >> u & ONES, words_at(b + 16) >> u & ONES, 2);
    case Q4_K: return nibbles_at(b + 16 + u / 2 * 32, u % 2 * 4);
    case Q5_K:
        return over(nibbles_at(b + 48 + u / 2 * 32, u % 2 * 4), words_at(b + 16) >> u & ONES, words_at(b + 32) >> u & ONES, 4);
    case Q6_K: {
        Codes above = pairs_at(b + 128 + 32 * side, 2 * quarter);
        return over(nibbles_at(b + 64 * side + quarter % 2 * 32, quarter / 2 * 4), above.low, above.high, 4);
    }
    case IQ4_XS: return nibbles(words_at(b + 8 + 16 * u));
    case TQ2_0: return pairs_at(b + 32 * side, 2 * quarter);
    case MXFP4: return nibbles(words_at(b + 1));
    case NVFP4: {
        uvec4 v = words_at(b + 4 + 16 * u);
        return Codes(uvec4(v.xy, v.xy >> 4) & NIBBLES, uvec4(v.zw, v.zw >> 4) & NIBBLES);
    }
    default: { // Q2_0
        const uvec4 STEPS = uvec4(0, 8, 16, 24);
        return Codes(spread_pairs(uvec4(word_at(b + 2 + 8 * u)) >> STEPS), spread_pairs(uvec4(word_at(b + 6 + 8 * u)) >> STEPS));
    }
    }
}

// A code stands for the number code - ZERO, or for entry - ZERO of a table. DIGITS is the bits of codes
// or entries.
const bool IS_IQ4 = TYPE == IQ4_NL || TYPE == IQ4_XS, IS_FP4 = TYPE == MXFP4 || TYPE == NVFP4;
const bool IS_PAIR = TYPE == Q2_K || TYPE == TQ2_0 || TYPE == Q2_0;
const bool IS_FIVE = TYPE == Q5_0 || TYPE == Q5_1 || TYPE == Q5_K || IS_FP4;
const uint DIGITS = IS_PAIR ? 2u : TYPE == Q3_K ? 3u : IS_FIVE ? 5u : TYPE == Q6_K ? 6u : TYPE == Q8_0 || IS_IQ4 ? 8u : 4u;
const uint ZERO = TYPE == TQ2_0 || TYPE == Q2_0 ? 1u : TYPE == Q3_K ? 4u : TYPE == Q4_0 ? 8u : TYPE == Q5_0 || IS_FP4 ? 16u :
    TYPE == Q6_K ? 32u : TYPE == Q8_0 || IS_IQ4 ? 128u : 0u;

// entry_of returns byte `code` of the 16 in t.
uint entry_of(uvec4 t, uint code) {
    uint w = code < 8 ? (code < 4 ? t.x : t.y) : code < 12 ? t.z : t.w;
    return w >> code % 4 * 8 & 255u;
}

// entries returns codes as bytes with the entries that they stand for, if there is a table.
uint entries(uint codes) {
    if (!IS_IQ4 && !IS_FP4) return codes;
    uvec4 t = IS_IQ4 ? uvec4(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u) : uvec4(0x13121110u, 0x1c181614u, 0x0d0e0f10u, 0x04080a0cu);
    return entry_of(t, codes & 255u) | entry_of(t, codes >> 8 & 255u) << 8 | entry_of(t, codes >> 16 & 255u) << 16 | entry_of(t, codes >> 24) << 24;
}

// HIGHER is what numbers adds to each number.
#define HIGHER float((1u << DIGITS) + ZERO)

// signed_entries returns the codes of a half as signed bytes of numbers plus SIGNED_ZERO.
#define SIGNED_ZERO float(DIGITS == 8 ? ZERO - 128 : ZERO)
uvec4 signed_entries(uvec4 codes) {
    uvec4 v = uvec4(entries(codes.x), entries(codes.y), entries(codes.z), entries(codes.w));
    return DIGITS == 8 ? v ^ 0x80808080u : v;
}

// numbers returns four codes as bytes as floats, by their bits: the codes are the topmost bits of
// mantissas.
vec4 numbers(uint codes) {
    const uint TOP = 23 - DIGITS;
    uint w = entries(codes);
    uvec4 placed = uvec4(w << TOP, w << TOP - 8, TOP < 16 ? w >> 16 - TOP : w << TOP - 16, w >> 24 - TOP);
    return uintBitsToFloat(placed & ((1u << DIGITS) - 1u) << TOP | 127u + DIGITS << 23);
}

// scales_of returns the factor of the 16 numbers of half h of unit u, and what is added to the
// products.
vec2 scales_of(uint b, uint u, uint h) {
    uint j = 2 * u + h;
    switch (TYPE) {
    case Q4_1:
    case Q5_1: return vec2(half_at(b), half_at(b + 2));
    case Q2_K: {
        uint both = byte_at(b + j);
        return vec2(half_at(b + 80) * float(both & 15u), -(half_at(b + 82) * float(both >> 4)));
    }
    case Q3_K: {
        uint low = byte_at(b + 96 + j % 8) >> j / 8 * 4 & 15u, high = byte_at(b + 104 + j % 4) >> j / 4 * 2 & 3u;
        return vec2(half_at(b + 108) * float(int(low | high << 4) - 32), 0.0);
    }
    case Q4_K:
    case Q5_K: {
        uint at = b + 4 + u, scale = byte_at(at) & 63u, least = byte_at(at + 4) & 63u;
        if (u >= 4) {
            scale = byte_at(at + 4) & 15u | byte_at(at - 4) >> 6 << 4;
            least = byte_at(at + 4) >> 4 | byte_at(at) >> 6 << 4;
        }
        return vec2(half_at(b) * float(scale), -(half_at(b + 2) * float(least)));
    }
    case Q6_K: return vec2(half_at(b + 208) * float(signed_at(b + 192 + j)), 0.0);
    case IQ4_XS: {
        uint low = byte_at(b + 4 + u / 2) >> u % 2 * 4 & 15u, high = byte_at(b + 2 + u / 4) >> u % 4 * 2 & 3u;
        return vec2(half_at(b) * float(int(low | high << 4) - 32), 0.0);
    }
    case TQ2_0: return vec2(half_at(b + 64), 0.0);
    case MXFP4: {
        uint e = byte_at(b);
        return vec2(uintBitsToFloat(e < 2 ? 0x200000u << e : (e - 1) << 23), 0.0);
    }
    case NVFP4: {
        uint code = byte_at(b + j) & 127u, e = code >> 3, fraction = code & 7u;
        if (code == 127u) return vec2(0.0);
        return vec2(e == 0 ? float(fraction) * 0.0009765625 : uintBitsToFloat((e + 119) << 23 | fraction << 20), 0.0);
    }
    }
    return vec2(half_at(b), 0.0);
}

// run_at returns the run at element d of a column of k elements. The numbers of a run are its factor,
// and what is added to the products.
Run run_at(uint col, uint d, uint k) {
    uint unit = d / 32, h = d / RUN % 2, b = (col * (k / 32) + unit) / UNITS * BYTES, u = unit % UNITS;
    Codes codes = codes_at(b, u);
    return Run(h == 0 ? codes.low : codes.high, scales_of(b, u, h));
}

#define CODES_OF(r, w) (r).codes[w]
vec4 decoded(uint codes, vec2 by) { return (numbers(codes) - HIGHER) * by.x + by.y; }

#endif
