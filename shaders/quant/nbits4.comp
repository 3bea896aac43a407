// nbits4 computes the products of quant/nbits for few rows and codes of 4 bits, in blocks of whole
// units. A unit is 16 bytes of codes with one scale; the next one is on its way while one is
// multiplied. A code becomes the float 16 + code by its bits, and sums of the row make up for that: a
// row with infinities has NaN as results.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#define BITS_ID 1
#include "nbits.glsl"

layout(constant_id = 2) const uint UNITS = 1; // of a block
layout(constant_id = 3) const uint ZEROS = 0; // whether there are zero points

#ifdef FLOAT_ROWS
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer AWords { vec4 a_words[]; };
#define LOAD_A(x) (x)
#define LOAD_A4(x) (x)
#else
layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 0) readonly buffer AWords { T4 a_words[]; };
#define LOAD_A(x) LOAD(x)
#define LOAD_A4(x) LOAD4(x)
#endif
#define UNIT_ID 4
#include "units.glsl"

layout(std430, binding = 1) readonly buffer CodeWords { uvec4 code_words[]; };

// high returns 16 + the code in bits 19 to 22.
float high(uint w) { return uintBitsToFloat(w & 0x00780000u | 0x41800000u); }

// factors returns the scale of a unit, and what the sum of a row's unit is multiplied by.
vec2 factors(uint col, uint unit) {
    uint b = unit / UNITS;
    float scale = scale_of(col, b);
    return vec2(scale, -scale * (ZEROS != 0 ? 16.0 + zero_of(col, b) : 24.0));
}

void main() {
    uint id = gl_LocalInvocationID.x, lane = id % LANES, units = row_words / 4;
    uint col0 = gl_WorkGroupID.x * COLUMNS, row0 = gl_WorkGroupID.y * ROWS, col = min(col0 + id / LANES, n - 1);

    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    uint ahead = min(lane, units - 1);
    uvec4 next = code_words[col * units + ahead];
    vec2 next_factors = factors(col, ahead);
    [[dont_unroll]] for (uint u0 = 0; u0 < units; u0 += CHUNK) {
        if (u0 > 0) barrier();
        uint count = min(CHUNK, units - u0);
        stage(row0, u0, count);
        barrier();
        [[dont_unroll]] for (uint u = lane; u < count; u += LANES) {
            uvec4 now = next;
            vec2 by = next_factors;
            ahead = min(u0 + u + LANES, units - 1);
            next = code_words[col * units + ahead];
            next_factors = factors(col, ahead);
            float dots[ROWS];
            [[unroll]] for (uint r = 0; r < ROWS; r++) dots[r] = 0.0;
            [[unroll]] for (uint w = 0; w < 4; w++) {
                uint c = now[w];
                vec4 v0 = vec4(high(c << 19), high(c << 15), high(c << 11), high(c << 7));
                vec4 v1 = vec4(high(c << 3), high(c >> 1), high(c >> 5), high(c >> 9));
                [[unroll]] for (uint r = 0; r < ROWS; r++) {
                    uint at = (r * CHUNK + u) * PLACES + 2 * w;
                    dots[r] = added(added(dots[r], v0, pool[at]), v1, pool[at + 1]);
                }
            }
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                vec4 halves = pool[(r * CHUNK + u) * PLACES + 8];
                sums[r] += by.x * dots[r] + by.y * (halves.x + halves.y);
            }
        }
    }
    float factor = row_factor();
    barrier();
    [[unroll]] for (uint r = 0; r < ROWS; r++) put(r, sums[r] * factor);
    join();
    for (uint i = id; i < ROWS * COLUMNS; i += gl_WorkGroupSize.x) {
        uint r = i / COLUMNS, c = i % COLUMNS;
        if (row0 + r < m && col0 + c < n) take_sum(row0 + r, col0 + c, joined(r, c));
    }
}
