// Rows of heads behind those of a past in a cache [batch,heads,room,size], an element per
// invocation: rows [batch,heads,rows,size] plus a bias follow the first n of the past, and
// zeros follow them. N is that of the batch with LENGTHS, else past. IN_PLACE the past lies
// in the cache, and only the new rows are written.
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
