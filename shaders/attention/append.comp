// append writes new rows after the past rows of a cache [batch,heads,room,size], an element per
// invocation. Rows [batch,heads,rows,size] plus a bias follow the first n past rows, and zeros fill
// the rest. n is a length of the batch if LENGTHS is set, otherwise past. If IN_PLACE is set, the
// cache already holds the past, and only new rows are written.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint LENGTHS = 0;
layout(constant_id = 2) const uint IN_PLACE = 0;
layout(constant_id = 3) const uint BIASED = 0;

layout(std430, binding = 0) readonly buffer Past { T past_rows[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Lengths { int first[]; };
layout(std430, binding = 4) writeonly buffer Cache { T cache[]; };

layout(push_constant) uniform Words {
    uint total, heads, rows, size, past;
    uint start, per_batch, per_head, per_row;
    uint bias_at, past_start, past_head;
    uint cache_start, room, cache_head; // room: rows that are written
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint count = IN_PLACE != 0 ? rows : room;
    uint e = i % size, r = i / size % count, h = i / size / count % heads, b = i / size / count / heads;
    uint n = LENGTHS != 0 ? uint(first[b]) : past;
    if (IN_PLACE != 0) r += n;
    uint to = cache_start + (b * heads + h) * cache_head + r * size + e;
    if (r < n) {
        cache[to] = past_rows[past_start + (b * heads + h) * past_head + r * size + e];
    } else if (r < n + rows) {
        float v = LOAD(x[start + b * per_batch + h * per_head + (r - n) * per_row + e]);
        if (BIASED != 0) v += LOAD(bias[bias_at + h * size + e]);
        cache[to] = STORE(v);
    } else {
        cache[to] = STORE(0.0);
    }
}
