// append_codes is append for a cache of int8, rows of include/codes.glsl and include/append_codes.glsl.
// An invocation writes the bytes of a head within one word of the cache. A word may have bytes of two
// heads, or of rows that stay.
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

#include "append_codes.glsl"

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint head = i / words, h = head % heads, b = head / heads, width = row_bytes(size), base = head * cache_head;
    uint n = LENGTHS != 0 ? uint(first[b]) : past;
    uint from = base + (IN_PLACE != 0 ? n * width : 0), to = from + (IN_PLACE != 0 ? rows : room) * width;
    uint at = from / 4 + i % words, begin = max(from, 4 * at), end = min(to, 4 * at + 4);
    uint word = 0, mask = 0, last = 0, block = NO_BLOCK, scale = 0;
    for (uint byte_ = begin; byte_ < end; byte_++) {
        uint r = (byte_ - base) / width, e = (byte_ - base) % width, v = 0;
        if (r != last) block = NO_BLOCK;
        last = r;
        if (r < n) v = BYTE_OF(past_rows, head * past_head + r * width + e);
        else if (r < n + rows) v = byte_of(start + b * per_batch + h * per_head + (r - n) * per_row, h, e, block, scale);
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
