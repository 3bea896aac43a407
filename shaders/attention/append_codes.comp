// append_codes is append for a cache of int8, rows of include/codes.glsl. An invocation writes the
// bytes of a head within one word of the cache. A word may have bytes of two heads, or of rows that
// stay.
//
// The scale of a block is its largest magnitude / 127 in float32, rounded up. Codes are the nearest
// ones, ties to even. If an element is not finite, the codes of its block are 0 and the scale is NaN.
// All are computed in integers, so they do not depend on how a device divides.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "codes.glsl"

layout(constant_id = 1) const uint LENGTHS = 0;
layout(constant_id = 2) const uint IN_PLACE = 0;
layout(constant_id = 3) const uint BIASED = 0;

layout(std430, binding = 0) readonly buffer Past { uint past_rows[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Lengths { int first[]; };
layout(std430, binding = 4) buffer Cache { uint cache[]; };

layout(push_constant) uniform Words {
    uint total, words; // words: the most of a head
    uint heads, rows, size, past;
    uint start, per_batch, per_head, per_row;
    uint bias_at, past_head;
    uint room, cache_head; // room: rows that are written; past_head and cache_head are bytes
};

// element returns the bits of element e of a new row at x[at].
uint element(uint at, uint h, uint e) {
    float v = LOAD(x[at + e]);
    if (BIASED != 0) v += LOAD(bias[bias_at + h * size + e]);
    return floatBitsToUint(v);
}

// scale_of returns the bits of the scale of a block.
uint scale_of(uint at, uint h, uint block) {
    uint most = 0;
    for (uint e = block * BLOCK; e < min(size, (block + 1) * BLOCK); e++) most = max(most, element(at, h, e) & 0x7fffffffu);
    if (most >= 0x7f800000u) return 0x7fc0u;
    uint exponent = most >> 23, digits = most & 0x7fffffu | (exponent != 0 ? 0x800000u : 0u), bits;
    if (exponent < 8) { // the quotient counts units of 2^-149
        bits = ((digits << max(exponent, 1u)) + 127) / 254;
    } else { // its digits are 24 again
        bool less = digits < 127u << 17;
        bits = (exponent - (less ? 8 : 7) << 23) + ((digits << (less ? 8 : 7)) + 127) / 254;
    }
    return bits + 0xffffu >> 16;
}

// code returns the code of a number, given its bits, in a block of that scale. Both are integers
// times powers of 2, and the quotient is below 127.5.
uint code(uint bits, uint scale) {
    if (scale == 0 || scale >= 0x7f80u) return 0;
    uint exponent = bits >> 23 & 255u, digits = bits & 0x7fffffu | (exponent != 0 ? 0x800000u : 0u);
    uint by = scale & 127u | (scale >> 7 != 0 ? 128u : 0u);
    // The number is digits * 2^exponent, and the scale by * 2^(16+scale's exponent), times 2^-150.
    uint shift = 16 + max(scale >> 7, 1u) - max(exponent, 1u);
    if (shift > 24) return 0;
    by <<= shift;
    uint q = digits / by, rest = digits - q * by;
    q += uint(rest > by - rest || rest == by - rest && (q & 1u) != 0);
    return (bits >> 31 != 0 ? uint(-int(q)) : q) & 255u;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint head = i / words, h = head % heads, b = head / heads, width = row_bytes(size), base = head * cache_head;
    uint n = LENGTHS != 0 ? uint(first[b]) : past;
    uint from = base + (IN_PLACE != 0 ? n * width : 0), to = from + (IN_PLACE != 0 ? rows : room) * width;
    uint at = from / 4 + i % words, begin = max(from, 4 * at), end = min(to, 4 * at + 4);
    uint word = 0, mask = 0, block = 0xffffffffu, scale = 0;
    for (uint byte_ = begin; byte_ < end; byte_++) {
        uint r = (byte_ - base) / width, e = (byte_ - base) % width, v = 0;
        if (r < n) {
            v = BYTE_OF(past_rows, head * past_head + r * width + e);
        } else if (r < n + rows) {
            uint row = start + b * per_batch + h * per_head + (r - n) * per_row;
            uint of = e < size ? e / BLOCK : (e - size) / 2;
            if (r * width + of != block) {
                block = r * width + of;
                scale = scale_of(row, h, of);
            }
            v = e < size ? code(element(row, h, e), scale) : scale >> (e - size) % 2 * 8 & 255u;
        }
        uint place = byte_ % 4 * 8;
        word |= v << place;
        mask |= 255u << place;
    }
    if (mask == 0xffffffffu) {
        cache[at] = word;
    } else if (mask != 0) {
        atomicAnd(cache[at], ~mask);
        atomicOr(cache[at], word);
    }
}
