// Products of many rows [m,k] and weights [n,k] in runs, by cooperative matrices. Weights are decoded
// when they are staged, and rounded to the elements of the matrices. ROW_WORDS says whether rows are
// read by whole words. Include it after types.glsl, m, n and k, run_at, decoded and take_sum, with
// PARTIAL for matrix.glsl.
//
// With TYPE_F32, rows and weights are rounded to bfloat16, or with SPLIT 2 to sums of two. A row with
// an infinity then has NaN as results.
#ifndef RUNS_MATRIX_GLSL
#define RUNS_MATRIX_GLSL

#define PARTS_ID 13
#define WHOLE_ID 14
#define SPLIT_ID 15
#include "matrix.glsl"

layout(constant_id = 12) const uint ROW_WORDS = 0;

// A Row is a piece of a row in memory, of WORDS words.
#ifdef TYPE_F32
#define WORDS 2
layout(std430, binding = 0) readonly buffer ABits { uint a_bits[]; };
#else
#define WORDS 1
layout(std430, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
#endif
layout(std430, binding = 0) readonly buffer AWords { WORD a_words[]; };

struct Row { WORD words[WORDS]; };

const uint STEP_RUNS = TILE_K / RUN, RUNS = TILE_N * STEP_RUNS, RUNS_EACH = (RUNS + INVOCATIONS - 1) / INVOCATIONS;
Row next_rows[LEFT_EACH];
Run next_runs[RUNS_EACH];
uint row0, col0;

// row_at returns a piece from element d of a row on.
Row row_at(uint row, uint d, uint end) {
    Row r;
    uint first = row * k + d, e[8];
    if (ROW_WORDS != 0) {
        bool inside = WHOLE != 0 || row < m && d < end;
        [[unroll]] for (uint w = 0; w < WORDS; w++) r.words[w] = inside ? a_words[first / 8 * WORDS + w] : WORD(0);
        return r;
    }
    [[unroll]] for (uint i = 0; i < 8; i++) e[i] = row < m && d + i < end ? uint(a_bits[first + i]) : 0u;
#ifdef TYPE_F32
    r.words[0] = WORD(e[0], e[1], e[2], e[3]), r.words[1] = WORD(e[4], e[5], e[6], e[7]);
#else
    r.words[0] = word_of(e);
#endif
    return r;
}

// fetch reads the rows and weights of the tiles at k0. Whole tiles behind the end are the last ones
// again.
void fetch(uint k0, uint end) {
    if (WHOLE != 0) k0 = min(k0, end - TILE_K);
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (LEFT_EVEN || at < LEFT_COUNT) next_rows[i] = row_at(row0 + at / LEFT_LINE, k0 + at % LEFT_LINE * 8, end);
    }
    [[unroll]] for (uint i = 0; i < RUNS_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS, col = col0 + at / STEP_RUNS, d = k0 + at % STEP_RUNS * RUN;
        next_runs[i] = no_run();
        if (at < RUNS && (WHOLE != 0 || col < n && d < end)) next_runs[i] = run_at(col, d, k);
    }
}

#ifdef TYPE_F32
// upper returns the nearest bfloat16 as a float.
float upper(float x) { return is_nan(x) ? NAN : uintBitsToFloat(floatBitsToUint(x) + 0x8000u & 0xffff0000u); }
vec4 upper(vec4 v) { return vec4(upper(v.x), upper(v.y), upper(v.z), upper(v.w)); }

// lower returns what is left of a number beside its upper part.
float lower(float x, float upper) { return is_nan(upper) || is_inf(upper) ? 0.0 : x - upper; }
vec4 lower(vec4 v) {
    vec4 u = upper(v);
    return upper(vec4(lower(v.x, u.x), lower(v.y, u.y), lower(v.z, u.z), lower(v.w, u.w)));
}

// word_of returns eight elements for numbers u and v.
WORD word_of(vec4 u, vec4 v) {
    uvec4 a = floatBitsToUint(upper(u)), b = floatBitsToUint(upper(v));
    return uvec4(a.xz, b.xz) >> 16 | uvec4(a.yw, b.yw);
}

// PUT_NUMBERS puts numbers u and v into a tile at piece `at`, and their lower parts `apart` pieces on.
#define PUT_NUMBERS(tile, at, split, apart, u, v) \
    tile[at] = word_of(u, v); \
    if (split > 1) tile[(at) + apart] = word_of(lower(u), lower(v))
#else
#ifdef TYPE_BF16
#define BITS_OF_WEIGHT(v) bf16_bits(v)
#else
#define BITS_OF_WEIGHT(v) packHalf2x16(vec2(rounded_f16(v), 0.0))
#endif

WORD word_of(vec4 u, vec4 v) {
    uint e[8];
    [[unroll]] for (uint i = 0; i < 4; i++) e[i] = BITS_OF_WEIGHT(u[i]), e[i + 4] = BITS_OF_WEIGHT(v[i]);
    return word_of(e);
}

#define PUT_NUMBERS(tile, at, split, apart, u, v) tile[at] = word_of(u, v)
#endif

void stage() {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS, to = at / LEFT_LINE * LEFT_STRIDE + at % LEFT_LINE;
        if (!LEFT_EVEN && at >= LEFT_COUNT) continue;
#ifdef TYPE_F32
        vec4 u = uintBitsToFloat(next_rows[i].words[0]), v = uintBitsToFloat(next_rows[i].words[1]);
        PUT_NUMBERS(left, to, SPLIT, LEFT_PIECES, u, v);
#else
        left[to] = next_rows[i].words[0];
#endif
    }
    [[unroll]] for (uint i = 0; i < RUNS_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS, to = at / STEP_RUNS * RIGHT_STRIDE + at % STEP_RUNS * (RUN / 8);
        if (at >= RUNS) continue;
        [[unroll]] for (uint p = 0; p < RUN / 8; p++) {
            vec4 u = decoded(CODES_OF(next_runs[i], 2 * p), next_runs[i].by), v = decoded(CODES_OF(next_runs[i], 2 * p + 1), next_runs[i].by);
            PUT_NUMBERS(right, to + p, RIGHT_SPLIT, RIGHT_PIECES, u, v);
        }
    }
}

void result(uint r, uint c, SUM sum) {
    uint row = row0 + r, col = col0 + c;
    if (row < m && col < n) take_sum(row, col, sum);
}

void main() {
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    multiply_part(k, gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, gl_WorkGroupID.z);
}

#endif
