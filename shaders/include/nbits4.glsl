// Products of few rows and codes of 4 bits, in blocks of whole units. A unit is 16 bytes of codes with
// one scale; the next one is on its way while one is multiplied. A code becomes the float 16 + code by
// its bits, and sums of the row make up for that: a row with infinities has NaN as results. With
// JOINED, there are the products of joined.glsl. With DOT, codes and rows are bytes.
#ifndef NBITS4_GLSL
#define NBITS4_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 2) const uint UNITS = 1; // of a block
layout(constant_id = 3) const uint ZEROS = 0; // whether there are zero points

#ifdef JOINED
layout(constant_id = 1) const uint BITS_PER_CODE = 4;

layout(std430, binding = 1) readonly buffer Codes { uvec4 code_words[]; };
layout(std430, binding = 1) readonly buffer Scales { T scales[]; };
layout(std430, binding = 1) readonly buffer Zeros { uint zeros[]; };

struct Product { uint n, codes, scales, zeros, bias; };

layout(push_constant) uniform Words {
    uint m, k;
    uint blocks, row_words, zero_bytes; // as in nbits.glsl
    Product first, second, third;
    float p;
};
#else
#define BITS_ID 1
#include "nbits.glsl"

layout(std430, binding = 1) readonly buffer CodeWords { uvec4 code_words[]; };
#endif

#include "rows.glsl"
#define PAIRED
#define UNIT_ID 4
#include "units.glsl"

#ifdef JOINED
#define FUNCTION_ID UNIT_ID + 6
#include "joined.glsl"

float result(Product x, uint row, uint col, float sum) {
    return x.bias == NONE ? sum : sum + LOAD(scales[x.bias / ELEMENT + col]);
}

uint first_code() { return own.codes / 16; }
uint first_scale() { return own.scales / ELEMENT; }
uint first_zero() { return own.zeros / 4; }
#else
uint col0; // the first column of the workgroup

uint begin(uint c) {
    col0 = gl_WorkGroupID.x * COLUMNS;
    return min(col0 + c, n - 1);
}

uint first_code() { return 0; }
uint first_scale() { return 0; }
uint first_zero() { return 0; }

void take(uint row, uint r, uint c) {
    if (col0 + c < n) take_sum(row, col0 + c, joined(r, c));
}
#endif

// The first codes and scale of the invocation's column, its first word of zero points, and the first
// nibble there.
uint codes_at, scales_at, zeros_at, zero_at;

// high returns 16 + the code in bits 19 to 22.
float high(uint w) { return uintBitsToFloat(w & 0x00780000u | 0x41800000u); }

// ABOVE is what is added to each code.
#ifdef DOT
const float ABOVE = 0.0;
#else
const float ABOVE = 16.0;
#endif

// factors returns the scale of a unit, and what the sum of a row's unit is multiplied by.
vec2 factors(uint unit) {
    uint b = unit / UNITS, nibble = zero_at + b;
    float scale = LOAD(scales[scales_at + b]);
    if (ZEROS == 0) return vec2(scale, -scale * (ABOVE + 8.0));
    return vec2(scale, -scale * (ABOVE + float(zeros[zeros_at + nibble / 8] >> nibble % 8 * 4 & 15u)));
}

void main() {
    uint id = gl_LocalInvocationID.x, lane = id % LANES, units = row_words / 4;
    uint row0 = gl_WorkGroupID.y * ROWS, col = begin(id / LANES);
    codes_at = first_code() + col * units, scales_at = first_scale() + col * blocks;
    zeros_at = first_zero(), zero_at = col * zero_bytes * 2;

    float sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    uint ahead = min(lane, units - 1);
    uvec4 next = code_words[codes_at + ahead];
    vec2 next_factors = factors(ahead);
    [[dont_unroll]] for (uint u0 = 0; u0 < units; u0 += CHUNK) {
        if (u0 > 0) barrier();
        uint count = min(CHUNK, units - u0);
        stage(row0, u0, count);
        barrier();
        [[dont_unroll]] for (uint u = lane; u < count; u += LANES) {
            uvec4 now = next;
            vec2 by = next_factors;
            ahead = min(u0 + u + LANES, units - 1);
            next = code_words[codes_at + ahead];
            next_factors = factors(ahead);
#ifdef DOT
            uvec4 even = now & 0x0f0f0f0fu, odd = now >> 4 & 0x0f0f0f0fu;
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint at = r * CHUNK + u;
                vec4 of = pool[at];
                int dot = dot16(uvec4(even.x, odd.x, even.y, odd.y), bytes[2 * at]);
                dot += dot16(uvec4(even.z, odd.z, even.w, odd.w), bytes[2 * at + 1]);
                sums[r] += by.x * (of.x * float(dot)) + by.y * (of.y + of.z);
            }
#else
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
