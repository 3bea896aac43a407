// Rows [m,k] of products by weights of few bits. An invocation takes a unit of 32 weights at a time,
// and LANES invocations share a column. Shared memory has CHUNK units of ROWS rows. UNIT_ID is the id
// of the first of the constants. Include it after rows.glsl, m and k.
//
// With DOT, rows are rounded to bytes, a unit to multiples of 1/127 of its largest magnitude. Units
// with an infinity or NaN become NaN, and units below 2^-110 become 0. With PAIRED, the bytes of two
// words are those of even elements and those of odd ones.
//
// With NORMED, a row is scaled to a mean square of 1 and multiplied by a weight for each element. There
// is one row, of float32. Bits of HAS say what else there is: 1 a row that is added before, 2 room for
// the sum. NORMED is the binding of the row that is added; the weights and the sum follow.
#ifndef UNITS_GLSL
#define UNITS_GLSL

layout(constant_id = UNIT_ID) const uint ROWS = 1;
layout(constant_id = UNIT_ID + 1) const uint LANES = 32;
layout(constant_id = UNIT_ID + 2) const uint CHUNK = 32;
layout(constant_id = UNIT_ID + 3) const uint ROW_WORDS = 0; // whether rows are read by whole words

#ifdef DOT
#include "dot.glsl"

const uint PLACES = 1; // words of a unit: its scale, and the scaled sums of its halves
shared uvec4 bytes[ROWS * CHUNK * 2];
#else
const uint PLACES = 9; // words of a unit: eight, and one with the sums of its halves
#endif
const uint STAGED = ROWS * CHUNK * PLACES, SUMS = ROWS * gl_WorkGroupSize.x / 4;
const uint COLUMNS = gl_WorkGroupSize.x / LANES; // of a workgroup

shared vec4 pool[STAGED > SUMS ? STAGED : SUMS];

// given_word returns elements d to d + 3 of a row. Elements past the end and rows past the last are 0.
vec4 given_word(uint row, uint d) {
    uint at = row * k + d;
    if (ROW_WORDS != 0) return row < m && d < k ? LOAD4(a_words[at / 4]) : vec4(0.0);
    vec4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) v[e] = row < m && d + e < k ? LOAD(a[at + e]) : 0.0;
    return v;
}

float total(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

#ifdef NORMED
layout(constant_id = UNIT_ID + 4) const uint HAS = 0;
layout(constant_id = UNIT_ID + 5) const float EPSILON = 0.0;

layout(std430, binding = NORMED) readonly buffer Added { float added_row[]; };
layout(std430, binding = NORMED) readonly buffer AddedWords { vec4 added_words[]; };
layout(std430, binding = NORMED + 1) readonly buffer Weights { float norm_weights[]; };
layout(std430, binding = NORMED + 1) readonly buffer WeightWords { vec4 weight_words[]; };
layout(std430, binding = NORMED + 2) writeonly buffer Sum { float sum_row[]; };

const uint FEW = 16;
shared float few[FEW];
float squares = 0.0; // of the elements that the invocation staged

// row_word returns elements of the row, times their weights.
vec4 row_word(uint row, uint d) {
    vec4 v = given_word(row, d), by = vec4(0.0);
    if (row >= m || d >= k) return v;
    if (ROW_WORDS != 0) {
        by = weight_words[d / 4];
        if ((HAS & 1) != 0) v += added_words[d / 4];
    } else {
        [[unroll]] for (uint e = 0; e < 4; e++) {
            if (d + e >= k) continue;
            by[e] = norm_weights[d + e];
            if ((HAS & 1) != 0) v[e] += added_row[d + e];
        }
    }
    squares += total(v * v);
    if ((HAS & 2) != 0 && gl_WorkGroupID == uvec3(0)) {
        [[unroll]] for (uint e = 0; e < 4; e++) {
            if (d + e < k) sum_row[d + e] = v[e];
        }
    }
    return v * by;
}
#else
vec4 row_word(uint row, uint d) { return given_word(row, d); }
#endif

#ifdef DOT
// rounded returns four numbers, times a factor, as bytes.
uint rounded(vec4 v, float by) {
    uvec4 q = uvec4(ivec4(roundEven(v * by))) & 255u;
    return q.x | q.y << 8 | q.z << 16 | q.w << 24;
}

uint largest(uint most, vec4 v) {
    uvec4 u = floatBitsToUint(v) & 0x7fffffffu;
    return max(most, max(max(u.x, u.y), max(u.z, u.w)));
}

int total(uvec4 codes) {
    const uint EACH = 0x01010101u;
    return dot4(codes.x, EACH, dot4(codes.y, EACH, dot4(codes.z, EACH, dot4(codes.w, EACH, 0))));
}

// stage rounds units from `first` on, `count` of them, and puts them into shared memory.
void stage(uint row0, uint first, uint count) {
    for (uint i = gl_LocalInvocationID.x; i < ROWS * count; i += gl_WorkGroupSize.x) {
        uint r = i / count, u = i % count, to = r * CHUNK + u, most = 0;
        vec4 v[8];
        [[unroll]] for (uint w = 0; w < 8; w++) {
            v[w] = row_word(row0 + r, (first + u) * 32 + w * 4);
            most = largest(most, v[w]);
        }
        bool is_small = most < 0x08800000u, is_number = most < 0x7f800000u;
        float by = is_small || !is_number ? 0.0 : 127.0 / uintBitsToFloat(most);
        float scale = is_number ? is_small ? 0.0 : uintBitsToFloat(most) / 127.0 : NAN;
        uvec4 low, high;
        [[unroll]] for (uint w = 0; w < 2; w++) {
            vec4 a = v[2 * w], b = v[2 * w + 1], c = v[2 * w + 4], d = v[2 * w + 5];
#ifdef PAIRED
            low[2 * w] = rounded(vec4(a.xz, b.xz), by), low[2 * w + 1] = rounded(vec4(a.yw, b.yw), by);
            high[2 * w] = rounded(vec4(c.xz, d.xz), by), high[2 * w + 1] = rounded(vec4(c.yw, d.yw), by);
#else
            low[2 * w] = rounded(a, by), low[2 * w + 1] = rounded(b, by);
            high[2 * w] = rounded(c, by), high[2 * w + 1] = rounded(d, by);
#endif
        }
        bytes[2 * to] = low, bytes[2 * to + 1] = high;
        pool[to] = vec4(scale, scale * float(total(low)), scale * float(total(high)), 0.0);
    }
}
#else
// stage copies units from `first` on, `count` of them, to shared memory.
void stage(uint row0, uint first, uint count) {
    for (uint i = gl_LocalInvocationID.x; i < ROWS * count; i += gl_WorkGroupSize.x) {
        uint r = i / count, u = i % count, to = (r * CHUNK + u) * PLACES;
        vec4 low = vec4(0.0), high = vec4(0.0);
        for (uint w = 0; w < 4; w++) {
            uint d = (first + u) * 32 + w * 4;
            vec4 v = row_word(row0 + r, d), after = row_word(row0 + r, d + 16);
            pool[to + w] = v;
            pool[to + w + 4] = after;
            low += v, high += after;
        }
        pool[to + 8] = vec4(total(low), total(high), 0.0, 0.0);
    }
}
#endif

// added returns sum + u v.
float added(float sum, vec4 u, vec4 v) {
    sum += u.x * v.x;
    sum += u.y * v.y;
    sum += u.z * v.z;
    sum += u.w * v.w;
    return sum;
}

// put puts a sum of an invocation for row r into shared memory.
void put(uint r, float sum) {
    uint at = r * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    pool[at / 4][at % 4] = sum;
}

// join adds the sums of the invocations of each column in a fixed order.
void join() {
    uint id = gl_LocalInvocationID.x;
    for (uint rest = LANES / 2; rest > 0; rest /= 2) {
        barrier();
        for (uint r = 0; r < ROWS && id % LANES < rest; r++) {
            uint at = r * gl_WorkGroupSize.x + id, from = at + rest;
            pool[at / 4][at % 4] += pool[from / 4][from % 4];
        }
    }
    barrier();
}

// row_factor returns the number that products of the row are multiplied by. All invocations call it
// together, after the last unit.
float row_factor() {
#ifdef NORMED
    uint id = gl_LocalInvocationID.x;
    barrier();
    put(0, squares);
    barrier();
    float sum = 0.0;
    for (uint i = id; i < SUMS && id < FEW; i += FEW) sum += total(pool[i]);
    if (id < FEW) few[id] = sum;
    barrier();
    sum = 0.0;
    for (uint i = 0; i < FEW; i++) sum += few[i];
    return 1.0 / sqrt(sum / float(k) + EPSILON);
#else
    return 1.0;
#endif
}

// joined returns the sum of a row and a column of the workgroup.
float joined(uint r, uint column) {
    uint at = r * gl_WorkGroupSize.x + column * LANES;
    return pool[at / 4][at % 4];
}

#endif
