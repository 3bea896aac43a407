// blocks computes products of few rows and weights in blocks, decoded in registers:
// y = alpha * a w^T + beta * c. The codes of the next unit are on their way while those of one are
// multiplied. Numbers are floats by their bits, with sums of the row to make up for that: a row with
// infinities has NaN as results. Axes x and z of the grid count the columns, axis y the rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "blocks.glsl"

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer AWords { vec4 a_words[]; };
layout(std430, binding = 2) readonly buffer Add { float c[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint c_row, c_col;
    uint has_c;
    float alpha, beta;
};

#define LOAD_A(x) (x)
#define LOAD_A4(x) (x)
#define UNIT_ID 4
#include "units.glsl"

// Unit is the codes of a unit, and the factors of its halves.
struct Unit {
    Codes codes;
    vec2 low, high;
};

Unit unit_at(uint col, uint unit) {
    uint b = (col * (k / 32) + unit) / UNITS * BYTES, u = unit % UNITS;
    return Unit(codes_at(b, u), scales_of(b, u, 0), scales_of(b, u, 1));
}

void main() {
    uint id = gl_LocalInvocationID.x, lane = id % LANES, units = k / 32;
    uint col0 = (gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x) * COLUMNS, row0 = gl_WorkGroupID.y * ROWS;
    uint col = min(col0 + id / LANES, n - 1);

    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    Unit next = unit_at(col, min(lane, units - 1));
    [[dont_unroll]] for (uint u0 = 0; u0 < units; u0 += CHUNK) {
        if (u0 > 0) barrier();
        uint count = min(CHUNK, units - u0);
        stage(row0, u0, count);
        barrier();
        [[dont_unroll]] for (uint u = lane; u < count; u += LANES) {
            Unit now = next;
            next = unit_at(col, min(u0 + u + LANES, units - 1));
            vec4 v[4];
            [[unroll]] for (uint w = 0; w < 4; w++) v[w] = numbers(now.codes.low[w]);
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint at = (r * CHUNK + u) * PLACES;
                float dot = 0.0;
                [[unroll]] for (uint w = 0; w < 4; w++) dot = added(dot, v[w], pool[at + w]);
                sums[r] += now.low.x * dot + (now.low.y - now.low.x * HIGHER) * pool[at + 8].x;
            }
            [[unroll]] for (uint w = 0; w < 4; w++) v[w] = numbers(now.codes.high[w]);
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint at = (r * CHUNK + u) * PLACES;
                float dot = 0.0;
                [[unroll]] for (uint w = 0; w < 4; w++) dot = added(dot, v[w], pool[at + w + 4]);
                sums[r] += now.high.x * dot + (now.high.y - now.high.x * HIGHER) * pool[at + 8].y;
            }
        }
    }
    float factor = row_factor();
    barrier();
    [[unroll]] for (uint r = 0; r < ROWS; r++) put(r, sums[r] * factor);
    join();
    for (uint i = id; i < ROWS * COLUMNS; i += gl_WorkGroupSize.x) {
        uint row = row0 + i / COLUMNS, col = col0 + i % COLUMNS;
        if (row >= m || col >= n) continue;
        float v = joined(i / COLUMNS, i % COLUMNS) * alpha;
        if (has_c != 0) v += c[row * c_row + col * c_col] * beta;
        y[row * n + col] = v;
    }
}
