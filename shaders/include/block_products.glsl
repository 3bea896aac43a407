// Products of few rows and weights in blocks, decoded in registers: y = alpha * a w^T + beta * c. The
// codes of the next unit are on their way while those of one are multiplied. Numbers are floats by
// their bits, with sums of the row to make up for that: a row with infinities has NaN as results. Axes
// x and z of the grid count the columns, axis y the rows. With JOINED, there are the products of
// joined.glsl. With DOT, numbers and rows are bytes.
#ifndef BLOCK_PRODUCTS_GLSL
#define BLOCK_PRODUCTS_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "rows.glsl"
#define BLOCKS_ID 1
#include "blocks.glsl"

#ifdef JOINED
layout(std430, binding = 1) readonly buffer Add { float c[]; };

struct Product {
    uint n, c_row, c_col;
    float beta;
    uint blocks, c;
};

layout(push_constant) uniform Words {
    uint m, k;
    float alpha;
    Product first, second, third;
    float p;
};
#else
#include "block_gemm.glsl"
#endif

#define UNIT_ID 4
#include "units.glsl"

#ifdef JOINED
#define FUNCTION_ID UNIT_ID + 6
#include "joined.glsl"

float result(Product x, uint row, uint col, float sum) {
    float v = sum * alpha;
    return x.c == NONE ? v : v + c[x.c / ELEMENT + row * x.c_row + col * x.c_col] * x.beta;
}

uint first_block() { return own.blocks; }
#else
uint col0; // the first column of the workgroup

uint begin(uint i) {
    col0 = (gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x) * COLUMNS;
    return min(col0 + i, n - 1);
}

void take(uint row, uint r, uint i) {
    if (col0 + i < n) take_sum(row, col0 + i, joined(r, i));
}

uint first_block() { return 0; }
#endif

// Unit is the codes of a unit, and the factors of its halves.
struct Unit {
    Codes codes;
    vec2 low, high;
};

Unit unit_at(uint col, uint unit) {
    uint b = first_block() + (col * (k / 32) + unit) / UNITS * BYTES, u = unit % UNITS;
    return Unit(codes_at(b, u), scales_of(b, u, 0), scales_of(b, u, 1));
}

void main() {
    uint id = gl_LocalInvocationID.x, lane = id % LANES, units = k / 32;
    uint row0 = gl_WorkGroupID.y * ROWS, col = begin(id / LANES);

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
#ifdef DOT
            uvec4 low = signed_entries(now.codes.low), high = signed_entries(now.codes.high);
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint at = r * CHUNK + u;
                vec4 of = pool[at];
                sums[r] += now.low.x * (of.x * float(dot16(low, bytes[2 * at]))) + (now.low.y - now.low.x * SIGNED_ZERO) * of.y;
                sums[r] += now.high.x * (of.x * float(dot16(high, bytes[2 * at + 1]))) + (now.high.y - now.high.x * SIGNED_ZERO) * of.z;
            }
#else
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
#endif
        }
    }
    float factor = row_factor();
    barrier();
    [[unroll]] for (uint r = 0; r < ROWS; r++) put(r, sums[r] * factor);
    join();
    for (uint i = id; i < ROWS * COLUMNS; i += gl_WorkGroupSize.x) {
        uint r = i / COLUMNS, c = i % COLUMNS;
        if (row0 + r < m) take(row0 + r, r, c);
    }
}

#endif
