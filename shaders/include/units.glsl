// Rows [m,k] of products by weights of few bits. An invocation takes a unit of 32 weights at a time,
// and LANES invocations share a column. Shared memory has CHUNK units of ROWS rows. UNIT_ID is the id
// of the first of the constants. Include it after m, k, and n, the buffers a and a_words, and the
// macros LOAD_A and LOAD_A4, which convert elements to floats.
#ifndef UNITS_GLSL
#define UNITS_GLSL

layout(constant_id = UNIT_ID) const uint ROWS = 1;
layout(constant_id = UNIT_ID + 1) const uint LANES = 32;
layout(constant_id = UNIT_ID + 2) const uint CHUNK = 32;
layout(constant_id = UNIT_ID + 3) const uint ROW_WORDS = 0; // whether rows are read by whole words

const uint PLACES = 9; // words of a unit: eight, and one with the sums of its halves
const uint STAGED = ROWS * CHUNK * PLACES, SUMS = ROWS * gl_WorkGroupSize.x / 4;
const uint COLUMNS = gl_WorkGroupSize.x / LANES; // of a workgroup

shared vec4 pool[STAGED > SUMS ? STAGED : SUMS];

// row_word returns elements d to d + 3 of a row. Elements past the end and rows past the last are 0.
vec4 row_word(uint row, uint d) {
    uint at = row * k + d;
    if (ROW_WORDS != 0) return row < m && d < k ? LOAD_A4(a_words[at / 4]) : vec4(0.0);
    vec4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) v[e] = row < m && d + e < k ? LOAD_A(a[at + e]) : 0.0;
    return v;
}

float total(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

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

// joined returns the sum of a row and a column of the workgroup.
float joined(uint r, uint column) {
    uint at = r * gl_WorkGroupSize.x + column * LANES;
    return pool[at / 4][at % 4];
}

#endif
