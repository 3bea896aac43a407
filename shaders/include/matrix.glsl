// Products by cooperative matrices. A subgroup's invocations hold a matrix together. A workgroup
// computes a tile of results. Tiles of both operands are staged in shared memory while the next
// ones are fetched. An access moves a word of PER neighbouring elements. Elements outside the
// operands are 0.
//
// A shader defines left_word and right_word to fetch elements, and result to store a sum, and calls
// multiply. Its first constants are numbers 1 to 4 in matrix_types.glsl and the ones below. It may
// define:
//
//     WHOLE_ID  of constant WHOLE: tiles and their steps have no element outside the operands
//     STRAIGHT  no result and no multiply: the shader stores the matrices that add_products makes
//     PARTIAL   first of two bindings, by which PARTS workgroups share the k axis of a tile
//     PARTS_ID  of constant PARTS
//     SPLIT_ID  of constant SPLIT: with 2, an element is a sum of two numbers, and the products of two
//               lower ones are left out. The lower ones are LEFT_PIECES and RIGHT_PIECES on. With
//               RIGHT_EXACT there are none on the right. The shader has its own fetch and stage
#ifndef MATRIX_GLSL
#define MATRIX_GLSL

#include "matrix_types.glsl"

layout(constant_id = 5) const uint DOWN = 1;      // subgroups of a workgroup along m and n
layout(constant_id = 6) const uint ACROSS = 1;
layout(constant_id = 7) const uint ROWS = 1; // matrices of a subgroup along m and n
layout(constant_id = 8) const uint COLS = 1;
layout(constant_id = 9) const uint DEEP = 1;       // matrices of a tile along k
layout(constant_id = 10) const uint LEFT_DOWN = 0; // neighbours are along m or n, not k
layout(constant_id = 11) const uint RIGHT_DOWN = 0;

// A word of 16 bytes has PER elements. It is a PIECE of eight in shared memory, or two. APART is the
// pieces of padding after a line of a tile.
#define WORD uvec4
#ifdef TYPE_I8
#define PER 16
#define PIECE uvec2
#else
#define PER 8
#define PIECE uvec4
#endif
const uint PIECES = PER / 8, APART = PIECES;

#ifdef WHOLE_ID
layout(constant_id = WHOLE_ID) const uint WHOLE = 0;
#else
const uint WHOLE = 0;
#endif

const uint TILE_M = MATRIX_M * ROWS * DOWN, TILE_N = MATRIX_N * COLS * ACROSS, TILE_K = MATRIX_K * DEEP;
const uint SUBGROUPS = DOWN * ACROSS, INVOCATIONS = SUBGROUPS * SUBGROUP;

// A line is the elements of a tile that are neighbours in memory. LEFT_LINES counts lines, and
// LEFT_LINE the words of a line. LEFT_EACH is the words of an invocation; all have as many if
// LEFT_EVEN is set.
const uint LEFT_LINES = LEFT_DOWN != 0 ? TILE_K : TILE_M, LEFT_LINE = (LEFT_DOWN != 0 ? TILE_M : TILE_K) / PER;
const uint RIGHT_LINES = RIGHT_DOWN != 0 ? TILE_K : TILE_N, RIGHT_LINE = (RIGHT_DOWN != 0 ? TILE_N : TILE_K) / PER;
const uint LEFT_STRIDE = LEFT_LINE * PIECES + APART, RIGHT_STRIDE = RIGHT_LINE * PIECES + APART;
const uint LEFT_COUNT = LEFT_LINES * LEFT_LINE, RIGHT_COUNT = RIGHT_LINES * RIGHT_LINE;
const uint LEFT_EACH = (LEFT_COUNT + INVOCATIONS - 1) / INVOCATIONS;
const uint RIGHT_EACH = (RIGHT_COUNT + INVOCATIONS - 1) / INVOCATIONS;
const bool LEFT_EVEN = LEFT_COUNT % INVOCATIONS == 0, RIGHT_EVEN = RIGHT_COUNT % INVOCATIONS == 0;

const uint LEFT_PIECES = LEFT_LINES * LEFT_STRIDE, RIGHT_PIECES = RIGHT_LINES * RIGHT_STRIDE;

#ifdef SPLIT_ID
layout(constant_id = SPLIT_ID) const uint SPLIT = 1;
#else
const uint SPLIT = 1;
#endif

#ifdef RIGHT_EXACT
const uint RIGHT_SPLIT = 1;
#else
const uint RIGHT_SPLIT = SPLIT;
#endif

shared PIECE left[SPLIT * LEFT_PIECES];
shared PIECE right[RIGHT_SPLIT * RIGHT_PIECES];
#ifndef STRAIGHT
shared SUM staged[SUBGROUPS * MATRIX_M * MATRIX_N];
#endif

#ifndef STRAIGHT
// result stores the sum of a row and a column of the tile.
void result(uint row, uint col, SUM sum);
#endif

// word_of packs the low bits of a word's elements.
WORD word_of(uint e[PER]) {
#ifdef TYPE_I8
    WORD w;
    [[unroll]] for (uint i = 0; i < 4; i++) w[i] = e[4 * i] | e[4 * i + 1] << 8 | e[4 * i + 2] << 16 | e[4 * i + 3] << 24;
    return w;
#else
    return WORD(e[0] | e[1] << 16, e[2] | e[3] << 16, e[4] | e[5] << 16, e[6] | e[7] << 16);
#endif
}

// TIMES multiplies a matrix of sums by a number. STORE_AS stores it as numbers of a type, its rows
// stride numbers apart.
#ifdef EMULATED
#include "matrix_emulated.glsl"
#else
SUM_MATRIX zero_sums() { return SUM_MATRIX(SUM(0)); }
#define TIMES(m, by) ((m) * (by))
#define STORE_AS(type, m, to, begin, stride) \
    coopMatStore(coopmat<type, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>(m), to, begin, stride, gl_CooperativeMatrixLayoutRowMajor)
#endif

#ifdef SPLIT_ID
void fetch(uint k0, uint end);
void stage();
#else
// left_word and right_word return a word of neighbours from index at of a line, for the tile that
// begins at k0. Elements at end and beyond along k are 0.
WORD left_word(uint line, uint at, uint k0, uint end);
WORD right_word(uint line, uint at, uint k0, uint end);

WORD next_left[LEFT_EACH], next_right[RIGHT_EACH];

// fetch reads the words of the tiles at k0. It reads no memory outside the operands: whole tiles
// behind the end are the last ones again.
void fetch(uint k0, uint end) {
    if (WHOLE != 0) k0 = min(k0, end - TILE_K);
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (LEFT_EVEN || at < LEFT_COUNT) next_left[i] = left_word(at / LEFT_LINE, at % LEFT_LINE * PER, k0, end);
    }
    [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (RIGHT_EVEN || at < RIGHT_COUNT) next_right[i] = right_word(at / RIGHT_LINE, at % RIGHT_LINE * PER, k0, end);
    }
}

#ifdef TYPE_I8
#define PUT(tile, at, w) tile[at] = (w).xy, tile[(at) + 1] = (w).zw
#else
#define PUT(tile, at, w) tile[at] = w
#endif

void stage() {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS, to = at / LEFT_LINE * LEFT_STRIDE + at % LEFT_LINE * PIECES;
        if (LEFT_EVEN || at < LEFT_COUNT) PUT(left, to, next_left[i]);
    }
    [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS, to = at / RIGHT_LINE * RIGHT_STRIDE + at % RIGHT_LINE * PIECES;
        if (RIGHT_EVEN || at < RIGHT_COUNT) PUT(right, to, next_right[i]);
    }
}
#endif

// left_at and right_at return the piece of row r and of column c at step d along k.
uint left_at(uint r, uint d) { return LEFT_DOWN != 0 ? d * LEFT_STRIDE + r / 8 : r * LEFT_STRIDE + d / 8; }
uint right_at(uint c, uint d) { return RIGHT_DOWN != 0 ? d * RIGHT_STRIDE + c / 8 : c * RIGHT_STRIDE + d / 8; }

const int LEFT_ORDER = LEFT_DOWN != 0 ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;
const int RIGHT_ORDER = RIGHT_DOWN != 0 ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor;

// row_of and col_of return the first row and column of matrix i of the subgroup in the tile.
uint row_of(uint i) { return (gl_SubgroupID / ACROSS * ROWS + i / COLS) * MATRIX_M; }
uint col_of(uint i) { return (gl_SubgroupID % ACROSS * COLS + i % COLS) * MATRIX_N; }

#ifdef PARTIAL
layout(constant_id = PARTS_ID) const uint PARTS = 1;

layout(std430, binding = PARTIAL) coherent buffer Partial { SUM partial[]; };
layout(std430, binding = PARTIAL + 1) coherent buffer Arrived { uint arrived[]; };
shared bool is_last;

// partial_at returns the place of the first sum of the subgroup in a part of a tile.
uint partial_at(uint tile, uint part) {
    return ((tile * PARTS + part) * SUBGROUPS + gl_SubgroupID) * ROWS * COLS * MATRIX_M * MATRIX_N;
}

// join passes the sums of all parts of a tile, added in their order, to result. It does so in the
// last workgroup that arrives.
void join(uint tile) {
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0) is_last = atomicAdd(arrived[tile], 1) == PARTS - 1;
    barrier();
    if (!is_last) return;
    memoryBarrierBuffer();
    [[dont_unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
        for (uint e = gl_SubgroupInvocationID; e < MATRIX_M * MATRIX_N; e += SUBGROUP) {
            SUM sum = SUM(0);
            for (uint part = 0; part < PARTS; part++) sum += partial[partial_at(tile, part) + i * MATRIX_M * MATRIX_N + e];
            result(row_of(i) + e / MATRIX_N, col_of(i) + e % MATRIX_N, sum);
        }
    }
    if (gl_LocalInvocationIndex == 0) arrived[tile] = 0;
}
#endif

SUM_MATRIX sums[ROWS * COLS];

// add_products sets sums to the products from first to end along k. No part of a step depends on
// whether another follows.
void add_products(uint first, uint end) {
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) sums[i] = zero_sums();
    fetch(first, end);
    [[dont_unroll]] for (uint k0 = first; k0 < end; k0 += TILE_K) {
        barrier();
        stage();
        barrier();
        fetch(k0 + TILE_K, end);
        [[unroll]] for (uint d = 0; d < TILE_K; d += MATRIX_K) {
            LEFT_MATRIX l[SPLIT * ROWS];
            [[unroll]] for (uint i = 0; i < SPLIT * ROWS; i++) {
                coopMatLoad(l[i], left, i / ROWS * LEFT_PIECES + left_at(row_of(i % ROWS * COLS), d), LEFT_STRIDE, LEFT_ORDER);
            }
            [[unroll]] for (uint j = 0; j < COLS; j++) {
                RIGHT_MATRIX r;
                coopMatLoad(r, right, right_at(col_of(j), d), RIGHT_STRIDE, RIGHT_ORDER);
                [[unroll]] for (uint i = 0; i < SPLIT * ROWS; i++) {
                    sums[i % ROWS * COLS + j] = coopMatMulAdd(l[i], r, sums[i % ROWS * COLS + j]);
                }
#ifdef SPLIT_ID
                if (RIGHT_SPLIT > 1) {
                    coopMatLoad(r, right, RIGHT_PIECES + right_at(col_of(j), d), RIGHT_STRIDE, RIGHT_ORDER);
                    [[unroll]] for (uint i = 0; i < ROWS; i++) sums[i * COLS + j] = coopMatMulAdd(l[i], r, sums[i * COLS + j]);
                }
#endif
            }
        }
    }
}

#ifndef STRAIGHT
// multiply adds up the products from first to end along k, and stores the sums of the tile.
void multiply(uint first, uint end) {
    add_products(first, end);
    uint base = gl_SubgroupID * MATRIX_M * MATRIX_N;
    [[dont_unroll]] for (uint k = 0; k < ROWS * COLS; k++) {
        [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
            if (i == k) STORE_AS(SUM, sums[i], staged, base, MATRIX_N);
        }
        subgroupBarrier();
        for (uint e = gl_SubgroupInvocationID; e < MATRIX_M * MATRIX_N; e += SUBGROUP) {
            result(row_of(k) + e / MATRIX_N, col_of(k) + e % MATRIX_N, staged[base + e]);
        }
        subgroupBarrier();
    }
}
#endif

#ifdef PARTIAL
// multiply_part is multiply for one of the parts of a tile of k terms. The last of them stores the
// results.
void multiply_part(uint k, uint tile, uint part) {
    uint terms = (k + PARTS * TILE_K - 1) / (PARTS * TILE_K) * TILE_K, first = part * terms, end = min(k, first + terms);
    if (PARTS == 1) {
        multiply(first, end);
        return;
    }
    add_products(first, end);
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
        STORE_AS(SUM, sums[i], partial, partial_at(tile, part) + i * MATRIX_M * MATRIX_N, MATRIX_N);
    }
    join(tile);
}
#endif

#endif
