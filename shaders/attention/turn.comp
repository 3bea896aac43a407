// turn does the work of attention/rotary for queries and keys, and of attention/append for keys and
// values of caches that hold the past in place, an element per invocation. Rotations are those of
// include/rotary.glsl. New rows follow the first n rows of the caches [batch,k_heads,room,size]. n is
// a length of the batch if LENGTHS is set, otherwise past.
#version 450
#extension GL_GOOGLE_include_directive : require
#define COS 3
#define SIN 4
#define INDEX 5
#define FAULT 10
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 4) const uint LENGTHS = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { T k[]; };
layout(std430, binding = 2) readonly buffer V { T v[]; };
layout(std430, binding = 6) readonly buffer Lengths { int first[]; };
layout(std430, binding = 7) writeonly buffer Y { T y[]; };
layout(std430, binding = 8) writeonly buffer Keys { T keys[]; };
layout(std430, binding = 9) writeonly buffer Values { T values[]; };

layout(push_constant) uniform Words {
    uint total, q_heads, k_heads, rows, size, pairs, table, past;
    uint q_start, q_batch, q_head, q_row;
    uint y_start, y_batch, y_head, y_row;
    uint k_start, k_batch, k_head, k_row;
    uint keys_start, keys_head; // keys_head: elements of a head of the cache
    uint v_start, v_batch, v_head, v_row;
    uint values_start, values_head;
};

#include "rotary.glsl"

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint lanes = q_heads + 2 * k_heads, e = i % size, h = i / size % lanes, r = i / size / lanes % rows;
    uint b = i / size / lanes / rows;
    bool is_query = h < q_heads, is_value = h >= q_heads + k_heads;
    if (!is_query) h = (h - q_heads) % k_heads;
    uint row = is_value || e >= 2 * pairs ? 0 : angle_row(b, r, rows);
    if (row == NOWHERE) return;
    uint n = LENGTHS != 0 ? uint(first[b]) : past, lane = b * k_heads + h, in_lane = (n + r) * size + e;
    if (is_query) {
        uint head = q_start + b * q_batch + h * q_head + r * q_row, to = y_start + b * y_batch + h * y_head + r * y_row + e;
        if (e < 2 * pairs) y[to] = STORE(ROTATED(q, head, e, row));
        else y[to] = q[head + e];
    } else if (is_value) {
        values[values_start + lane * values_head + in_lane] = v[v_start + b * v_batch + h * v_head + r * v_row + e];
    } else {
        uint head = k_start + b * k_batch + h * k_head + r * k_row, to = keys_start + lane * keys_head + in_lane;
        if (e < 2 * pairs) keys[to] = STORE(ROTATED(k, head, e, row));
        else keys[to] = k[head + e];
    }
}
