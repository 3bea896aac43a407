// Products by cooperative matrices. A subgroup's invocations hold a matrix together. A workgroup
// computes a tile of results. Tiles of both operands are staged in shared memory while the next
// ones are fetched. An access moves a word of eight neighbouring elements. Elements outside the
// operands are 0.
//
// A shader defines left_word and right_word to fetch elements, and result to store a sum, and calls
// multiply. Its first constants are numbers 1 to 4 in matrix_types.glsl and the ones below.
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

// WORD is eight elements. APART is the words of padding after a line of a tile.
#ifdef TYPE_I8
#define WORD uvec2
#define APART 2
#else
#define WORD uvec4
#define APART 1
#endif

const uint TILE_M = MATRIX_M * ROWS * DOWN, TILE_N = MATRIX_N * COLS * ACROSS, TILE_K = MATRIX_K * DEEP;
const uint SUBGROUPS = DOWN * ACROSS, INVOCATIONS = SUBGROUPS * SUBGROUP;

// A line is the elements of a tile that are neighbours in memory. LEFT_LINES counts lines, and
// LEFT_LINE the words of a line.
const uint LEFT_LINES = LEFT_DOWN != 0 ? TILE_K : TILE_M, LEFT_LINE = (LEFT_DOWN != 0 ? TILE_M : TILE_K) / 8;
const uint RIGHT_LINES = RIGHT_DOWN != 0 ? TILE_K : TILE_N, RIGHT_LINE = (RIGHT_DOWN != 0 ? TILE_N : TILE_K) / 8;
const uint LEFT_STRIDE = LEFT_LINE + APART, RIGHT_STRIDE = RIGHT_LINE + APART;
const uint LEFT_EACH = (LEFT_LINES * LEFT_LINE + INVOCATIONS - 1) / INVOCATIONS;
const uint RIGHT_EACH = (RIGHT_LINES * RIGHT_LINE + INVOCATIONS - 1) / INVOCATIONS;

shared WORD left[LEFT_LINES * LEFT_STRIDE];
shared WORD right[RIGHT_LINES * RIGHT_STRIDE];
shared SUM staged[SUBGROUPS * MATRIX_M * MATRIX_N];

// left_word and right_word return eight elements from index at of a line, for the tile that begins
// at k0. Elements at end and beyond along k are 0.
WORD left_word(uint line, uint at, uint k0, uint end);
WORD right_word(uint line, uint at, uint k0, uint end);

// result stores the sum of a row and a column of the tile.
void result(uint row, uint col, SUM sum);

// word_of packs the low bits of eight numbers.
WORD word_of(uint e[8]) {
#ifdef TYPE_I8
    return WORD(e[0] | e[1] << 8 | e[2] << 16 | e[3] << 24, e[4] | e[5] << 8 | e[6] << 16 | e[7] << 24);
#else
    return WORD(e[0] | e[1] << 16, e[2] | e[3] << 16, e[4] | e[5] << 16, e[6] | e[7] << 16);
#endif
}

#ifdef TYPE_I8
#include "dot.glsl"

// row_sums and column_sums are sums of codes, by which zero points are multiplied.
shared int row_sums[TILE_M], column_sums[TILE_N];

#define LINE_SUM(tile, r, down, line, stride) \
    { \
        if (down != 0) { \
            for (uint d = 0; d < TILE_K; d++) sum += bitfieldExtract(int(tile[d * stride + r / 8][r / 4 % 2]), int(r % 4 * 8), 8); \
        } else { \
            for (uint w = 0; w < line; w++) sum = dot4(tile[r * stride + w].y, 0x01010101u, dot4(tile[r * stride + w].x, 0x01010101u, sum)); \
        } \
    }

void add_lines(bool first) {
    for (uint r = gl_LocalInvocationIndex; r < TILE_M; r += INVOCATIONS) {
        int sum = first ? 0 : row_sums[r];
        if (!first) LINE_SUM(left, r, LEFT_DOWN, LEFT_LINE, LEFT_STRIDE)
        row_sums[r] = sum;
    }
    for (uint r = gl_LocalInvocationIndex; r < TILE_N; r += INVOCATIONS) {
        int sum = first ? 0 : column_sums[r];
        if (!first) LINE_SUM(right, r, RIGHT_DOWN, RIGHT_LINE, RIGHT_STRIDE)
        column_sums[r] = sum;
    }
}
#endif

#ifdef EMULATED
#include "matrix_emulated.glsl"
#else
SUM_MATRIX zero_sums() { return SUM_MATRIX(SUM(0)); }
#endif

WORD next_left[LEFT_EACH], next_right[RIGHT_EACH];

void fetch(uint k0, uint end) {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (at < LEFT_LINES * LEFT_LINE) next_left[i] = left_word(at / LEFT_LINE, at % LEFT_LINE * 8, k0, end);
    }
    [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (at < RIGHT_LINES * RIGHT_LINE) next_right[i] = right_word(at / RIGHT_LINE, at % RIGHT_LINE * 8, k0, end);
    }
}

void stage() {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (at < LEFT_LINES * LEFT_LINE) left[at / LEFT_LINE * LEFT_STRIDE + at % LEFT_LINE] = next_left[i];
    }
    [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) {
        uint at = gl_LocalInvocationIndex + i * INVOCATIONS;
        if (at < RIGHT_LINES * RIGHT_LINE) right[at / RIGHT_LINE * RIGHT_STRIDE + at % RIGHT_LINE] = next_right[i];
    }
}

// left_at and right_at return the word of row r and of column c at step d along k.
uint left_at(uint r, uint d) { return LEFT_DOWN != 0 ? d * LEFT_STRIDE + r / 8 : r * LEFT_STRIDE + d / 8; }
uint right_at(uint c, uint d) { return RIGHT_DOWN != 0 ? d * RIGHT_STRIDE + c / 8 : c * RIGHT_STRIDE + d / 8; }

const int LEFT_ORDER = LEFT_DOWN != 0 ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;
const int RIGHT_ORDER = RIGHT_DOWN != 0 ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor;

// multiply adds up the products from first to end along k, and passes every sum to result.
void multiply(uint first, uint end) {
    uint row0 = gl_SubgroupID / ACROSS * MATRIX_M * ROWS, col0 = gl_SubgroupID % ACROSS * MATRIX_N * COLS;
    SUM_MATRIX sums[ROWS * COLS];
    [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) sums[i] = zero_sums();
#ifdef TYPE_I8
    add_lines(true);
#endif
    fetch(first, end);
    [[dont_unroll]] for (uint k0 = first; k0 < end; k0 += TILE_K) {
        barrier();
        stage();
        barrier();
        if (k0 + TILE_K < end) fetch(k0 + TILE_K, end);
#ifdef TYPE_I8
        add_lines(false);
#endif
        [[unroll]] for (uint d = 0; d < TILE_K; d += MATRIX_K) {
            LEFT_MATRIX l[ROWS];
            [[unroll]] for (uint i = 0; i < ROWS; i++) coopMatLoad(l[i], left, left_at(row0 + i * MATRIX_M, d), LEFT_STRIDE, LEFT_ORDER);
            [[unroll]] for (uint j = 0; j < COLS; j++) {
                RIGHT_MATRIX r;
                coopMatLoad(r, right, right_at(col0 + j * MATRIX_N, d), RIGHT_STRIDE, RIGHT_ORDER);
                [[unroll]] for (uint i = 0; i < ROWS; i++) sums[i * COLS + j] = coopMatMulAdd(l[i], r, sums[i * COLS + j]);
            }
        }
    }
#ifdef TYPE_I8
    barrier(); // row_sums and column_sums are complete
#endif
    uint base = gl_SubgroupID * MATRIX_M * MATRIX_N;
    [[dont_unroll]] for (uint k = 0; k < ROWS * COLS; k++) {
        [[unroll]] for (uint i = 0; i < ROWS * COLS; i++) {
            if (i == k) coopMatStore(sums[i], staged, base, MATRIX_N, gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupBarrier();
        for (uint e = gl_SubgroupInvocationID; e < MATRIX_M * MATRIX_N; e += SUBGROUP) {
            result(row0 + k / COLS * MATRIX_M + e / MATRIX_N, col0 + k % COLS * MATRIX_N + e % MATRIX_N, staged[base + e]);
        }
        subgroupBarrier();
    }
}

#endif
