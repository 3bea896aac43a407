// turn_codes is turn for caches of int8, rows of include/codes.glsl and include/append_codes.glsl. The
// first invocations write an element of a query each, the others the bytes of a head within one word
// of a cache. A word may have bytes of two heads, or of rows that stay.
#version 450
#extension GL_GOOGLE_include_directive : require
#define COS 3
#define SIN 4
#define INDEX 5
#define FAULT 10
#include "common.glsl"
#include "types.glsl"
#include "rounded.glsl"
#include "codes.glsl"

layout(constant_id = 4) const uint LENGTHS = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { T k[]; };
layout(std430, binding = 2) readonly buffer V { T v[]; };
layout(std430, binding = 6) readonly buffer Lengths { int first[]; };
layout(std430, binding = 7) writeonly buffer Y { T y[]; };
layout(std430, binding = 8) buffer Keys { uint keys[]; };
layout(std430, binding = 9) buffer Values { uint values[]; };

layout(push_constant) uniform Words {
    uint total, queries, words; // words: the most of a head
    uint q_heads, k_heads, rows, size, pairs, table, past;
    uint q_start, q_batch, q_head, q_row;
    uint y_start, y_batch, y_head, y_row;
    uint k_start, k_batch, k_head, k_row;
    uint v_start, v_batch, v_head, v_row;
    uint keys_head, values_head; // bytes of a head of the caches
};

#include "rotary.glsl"

bool is_value;
uint angles; // the row of the tables of the new row

uint element(uint at, uint h, uint e) {
    if (is_value) return floatBitsToUint(LOAD(v[at + e]));
    return floatBitsToUint(e < 2 * pairs ? ROUNDED(ROTATED(k, at, e, angles)) : LOAD(k[at + e]));
}

#include "append_codes.glsl"

void turn_query(uint i) {
    uint e = i % size, h = i / size % q_heads, r = i / size / q_heads % rows, b = i / size / q_heads / rows;
    uint row = e < 2 * pairs ? angle_row(b, r, rows) : 0;
    uint head = q_start + b * q_batch + h * q_head + r * q_row, to = y_start + b * y_batch + h * y_head + r * y_row + e;
    if (row == NOWHERE) return;
    if (e < 2 * pairs) y[to] = STORE(ROTATED(q, head, e, row));
    else y[to] = q[head + e];
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    if (i < queries) {
        turn_query(i);
        return;
    }
    i -= queries;
    uint lane = i / words, h = lane % k_heads, b = lane / k_heads / 2, width = row_bytes(size);
    is_value = lane / k_heads % 2 != 0;
    uint n = LENGTHS != 0 ? uint(first[b]) : past, base = (b * k_heads + h) * (is_value ? values_head : keys_head);
    uint from = base + n * width, to = from + rows * width;
    uint at = from / 4 + i % words, begin = max(from, 4 * at), end = min(to, 4 * at + 4);
    uint word = 0, mask = 0, last = NOWHERE, block = NO_BLOCK, scale = 0;
    for (uint byte_ = begin; byte_ < end; byte_++) {
        uint r = (byte_ - from) / width, place = byte_ % 4 * 8;
        if (r != last) {
            last = r, block = NO_BLOCK;
            angles = is_value || pairs == 0 ? 0 : angle_row(b, r, rows);
            if (angles == NOWHERE) return;
        }
        uint row = is_value ? v_start + b * v_batch + h * v_head + r * v_row : k_start + b * k_batch + h * k_head + r * k_row;
        word |= byte_of(row, h, (byte_ - from) % width, block, scale) << place;
        mask |= 255u << place;
    }
    if (mask == 0xffffffffu) {
        if (is_value) values[at] = word;
        else keys[at] = word;
    } else if (mask != 0) {
        if (is_value) {
            atomicAnd(values[at], ~mask);
            atomicOr(values[at], word);
        } else {
            atomicAnd(keys[at], ~mask);
            atomicOr(keys[at], word);
        }
    }
}
