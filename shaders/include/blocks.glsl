// Weights in blocks of GGUF, read as they are stored; csrc/blocks has the formulas. Constant TYPE is
// a row of csrc/blocks/types.inc. A block is UNITS units of 32 elements, and begins at any byte.
#ifndef BLOCKS_GLSL
#define BLOCKS_GLSL

layout(constant_id = 1) const uint TYPE = 0;
layout(constant_id = 2) const uint BYTES = 18; // of a block
layout(constant_id = 3) const uint UNITS = 1;

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

// spread moves the four lowest bits of x to the lowest bits of four bytes.
uint spread(uint x) { return x & 1u | (x & 2u) << 7 | (x & 4u) << 14 | (x & 8u) << 21; }

// codes_at returns step i of eight of unit u of the block at byte b: four codes as bytes.
uint codes_at(uint b, uint u, uint i) {
    const uint ONES = 0x01010101u, PAIRS = 0x03030303u, NIBBLES = 0x0f0f0f0fu;
    uint side = u / 4, quarter = u % 4; // of 256 elements
    uint four = i % 4 * 4, nibble = i / 4 * 4;
    switch (TYPE) {
    case Q4_0:
    case IQ4_NL: return word_at(b + 2 + four) >> nibble & NIBBLES;
    case Q4_1: return word_at(b + 4 + four) >> nibble & NIBBLES;
    case Q5_0: return word_at(b + 6 + four) >> nibble & NIBBLES | spread(word_at(b + 2) >> 4 * i) << 4;
    case Q5_1: return word_at(b + 8 + four) >> nibble & NIBBLES | spread(word_at(b + 4) >> 4 * i) << 4;
    case Q8_0: return word_at(b + 2 + 4 * i) ^ 0x80808080u;
    case Q2_K: return word_at(b + 16 + 32 * side + 4 * i) >> 2 * quarter & PAIRS;
    case Q3_K:
        return word_at(b + 32 + 32 * side + 4 * i) >> 2 * quarter & PAIRS | (word_at(b + 4 * i) >> u & ONES) << 2;
    case Q4_K: return word_at(b + 16 + u / 2 * 32 + 4 * i) >> u % 2 * 4 & NIBBLES;
    case Q5_K:
        return word_at(b + 48 + u / 2 * 32 + 4 * i) >> u % 2 * 4 & NIBBLES | (word_at(b + 16 + 4 * i) >> u & ONES) << 4;
    case Q6_K:
        return word_at(b + 64 * side + quarter % 2 * 32 + 4 * i) >> quarter / 2 * 4 & NIBBLES |
            (word_at(b + 128 + 32 * side + 4 * i) >> 2 * quarter & PAIRS) << 4;
    case IQ4_XS: return word_at(b + 8 + 16 * u + four) >> nibble & NIBBLES;
    case TQ2_0: return word_at(b + 32 * side + 4 * i) >> 2 * quarter & PAIRS;
    case MXFP4: return word_at(b + 1 + four) >> nibble & NIBBLES;
    case NVFP4: return word_at(b + 4 + 16 * u + i / 4 * 8 + i % 2 * 4) >> i % 4 / 2 * 4 & NIBBLES;
    default: { // Q2_0
        uint q = byte_at(b + 2 + 8 * u + i);
        return q & 3u | (q & 12u) << 6 | (q & 48u) << 12 | (q & 192u) << 18;
    }
    }
}

// entry_of returns byte `code` of the 16 in t.
int entry_of(uvec4 t, uint code) {
    uint w = code < 8 ? (code < 4 ? t.x : t.y) : code < 12 ? t.z : t.w;
    return int(w >> code % 4 * 8 & 255u);
}

// number_of returns the number that a code stands for.
int number_of(uint code) {
    switch (TYPE) {
    case IQ4_NL:
    case IQ4_XS: return entry_of(uvec4(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u), code) - 128;
    case MXFP4:
    case NVFP4: return entry_of(uvec4(0x13121110u, 0x1c181614u, 0x0d0e0f10u, 0x04080a0cu), code) - 16;
    case Q4_0: return int(code) - 8;
    case Q5_0: return int(code) - 16;
    case Q8_0: return int(code) - 128;
    case Q3_K: return int(code) - 4;
    case Q6_K: return int(code) - 32;
    case TQ2_0:
    case Q2_0: return int(code) - 1;
    }
    return int(code);
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

#endif
