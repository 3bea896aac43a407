// rotary rotates pairs of elements of heads [batch,heads,rows,size], an element per invocation. A
// row of two tables has the cosines and sines of the angles. Elements from 2 * pairs on are copied.
// The elements of a pair are neighbours if INTERLEAVED is set, otherwise pairs apart.
//
// POSITIONS selects the row of the tables: 0 the number of the token, 1 the index of the token, 2
// the first index plus the token's row, 3 the index of the batch plus the token's row.
#version 450
#extension GL_GOOGLE_include_directive : require
#define INDEX 3
#define FAULT 5
#include "common.glsl"
#include "types.glsl"
#include "index.glsl"

layout(constant_id = 2) const uint INTERLEAVED = 0;
layout(constant_id = 3) const uint POSITIONS = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Cos { T cosines[]; };
layout(std430, binding = 2) readonly buffer Sin { T sines[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, heads, rows, size, pairs;
    uint start, per_batch, per_head, per_row; // of x
    uint y_start, y_batch, y_head, y_row;
    uint table; // rows of the tables
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint e = i % size, r = i / size % rows, h = i / size / rows % heads, b = i / size / rows / heads;
    uint head = start + b * per_batch + h * per_head + r * per_row, to = y_start + b * y_batch + h * y_head + r * y_row + e;
    if (e >= 2 * pairs) {
        y[to] = x[head + e];
        return;
    }
    uint at = b * rows + r;
    if (POSITIONS != 0) {
        uint k = POSITIONS == 1 ? at : POSITIONS == 3 ? b : 0;
        int first = index[k * INDEX_WORDS];
        uint place = uint(first) + (POSITIONS >= 2 ? r : 0);
        bool wide = INDEX_WORDS == 2 && index[k * INDEX_WORDS + 1] != first >> 31;
        if (wide || first < 0 || place >= table) {
            atomicMax(fault, ~k);
            return;
        }
        at = place;
    }
    uint pair = INTERLEAVED != 0 ? e / 2 : e % pairs;
    bool second = INTERLEAVED != 0 ? e % 2 == 1 : e >= pairs;
    uint one = head + (INTERLEAVED != 0 ? 2 * pair : pair), two = one + (INTERLEAVED != 0 ? 1 : pairs);
    float c = LOAD(cosines[at * pairs + pair]), s = LOAD(sines[at * pairs + pair]);
    float p = LOAD(x[one]), q = LOAD(x[two]);
    y[to] = STORE(second ? s * p + c * q : c * p - s * q);
}
