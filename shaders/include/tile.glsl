// Products by tiles in registers, operands in shared memory. A workgroup computes a tile of TILE_M
// rows and TILE_N columns. SLICES sets of invocations take turns along k, STEP terms at a time, and
// PARTS workgroups share the k axis of a tile. Sums of slices, and of parts, are added in order.
//
// A shader defines fetch, stage, and store or finish, and calls multiply. Include types.glsl first.
#ifndef TILE_GLSL
#define TILE_GLSL

#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 1) const uint TILE_M = 32;
layout(constant_id = 2) const uint TILE_N = 32;
layout(constant_id = 3) const uint STEP = 16;
layout(constant_id = 4) const uint ROWS = 4; // of an invocation, multiples of 4
layout(constant_id = 5) const uint COLS = 4;
layout(constant_id = 6) const uint SLICES = 1;
layout(constant_id = 7) const uint STAGES = 2; // tiles of operands in shared memory
layout(constant_id = 8) const uint PARTS = 1;
layout(constant_id = 9) const uint FUNCTION = 0;

#include "finish.glsl"

// A word is four neighbours of a row of a tile. One word keeps rows apart.
const uint INVOCATIONS = TILE_M / ROWS * (TILE_N / COLS); // of a slice
const uint LEFT_STRIDE = TILE_M / 4 + 1, RIGHT_STRIDE = TILE_N / 4 + 1;
const uint STAGED = STEP * (LEFT_STRIDE + RIGHT_STRIDE);
const uint SUMS = ROWS * COLS / 4; // words of an invocation
const uint OPERANDS = STAGES * SLICES * STAGED, HANDED = SLICES / 2 * INVOCATIONS * SUMS;
shared C4 pool[OPERANDS > HANDED ? OPERANDS : HANDED];
shared bool is_last;

layout(std430, binding = PARTIAL) coherent buffer Partial { C4 partial[]; };
layout(std430, binding = PARTIAL + 1) coherent buffer Arrived { uint arrived[]; };

C4 sums[SUMS];

// Invocations of a slice are blocks of 4 by 8, and blocks are in rows. An invocation's rows and
// columns are words that are as far apart as a block has rows and columns.
const uint DOWN = 4, ACROSS = 8, BLOCKS = TILE_N / (ACROSS * COLS);
uint slice, id, row_word, col_word;

void find_place() {
    slice = gl_LocalInvocationID.x / INVOCATIONS;
    id = gl_LocalInvocationID.x % INVOCATIONS;
    uint block = id / (DOWN * ACROSS), own = id % (DOWN * ACROSS);
    row_word = block / BLOCKS * (DOWN * ROWS / 4) + own / ACROSS;
    col_word = block % BLOCKS * (ACROSS * COLS / 4) + own % ACROSS;
}

// row_of and col_of return the row of the tile, and its first column, for word i of sums.
uint row_of(uint i) {
    uint r = i / (COLS / 4);
    return (row_word + r / 4 * DOWN) * 4 + r % 4;
}
uint col_of(uint i) { return (col_word + i % (COLS / 4) * ACROSS) * 4; }

// fetch reads the invocation's elements of the step at k0. Elements past the end are 0. stage puts
// them into the pool at a word: STEP rows of the left operand, then STEP rows of the right.
void fetch(uint k0, uint end);
void stage(uint base);

// place_of returns the first row or column, and the step, of word `at` of an operand. Neighbours in
// memory are along k unless down is set. put stages the word.
uvec2 place_of(uint extent, uint down, uint at) {
    return down != 0 ? uvec2(at % (extent / 4) * 4, at / (extent / 4)) : uvec2(at / (STEP / 4), at % (STEP / 4) * 4);
}

void put(uint base, uint extent, uint down, uint at, C4 v) {
    uvec2 place = place_of(extent, down, at);
    uint to = base + place.y * (extent / 4 + 1) + place.x / 4;
    if (down != 0) {
        pool[to] = v;
        return;
    }
    [[unroll]] for (uint e = 0; e < 4; e++) pool[to + e * (extent / 4 + 1)][place.x % 4] = v[e];
}

void compute(uint base) {
    uint left = base + row_word, right = base + STEP * LEFT_STRIDE + col_word;
    [[unroll]] for (uint d = 0; d < STEP; d++) {
        C4 l[ROWS / 4], r[COLS / 4];
        [[unroll]] for (uint i = 0; i < ROWS / 4; i++) l[i] = pool[left + d * LEFT_STRIDE + i * DOWN];
        [[unroll]] for (uint j = 0; j < COLS / 4; j++) r[j] = pool[right + d * RIGHT_STRIDE + j * ACROSS];
        [[unroll]] for (uint i = 0; i < ROWS / 4; i++) {
            [[unroll]] for (uint j = 0; j < COLS / 4; j++) {
                [[unroll]] for (uint e = 0; e < 4; e++) sums[(i * 4 + e) * (COLS / 4) + j] += l[i][e] * r[j];
            }
        }
    }
}

// join_slices adds the sums of all slices to the first slice's.
void join_slices() {
    [[unroll]] for (uint rest = SLICES / 2; rest > 0; rest /= 2) {
        barrier();
        if (slice >= rest && slice < 2 * rest) {
            [[unroll]] for (uint i = 0; i < SUMS; i++) pool[((slice - rest) * SUMS + i) * INVOCATIONS + id] = sums[i];
        }
        barrier();
        if (slice < rest) {
            [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] += pool[(slice * SUMS + i) * INVOCATIONS + id];
        }
    }
}

// join_parts stores the sums of a part of a tile. In the last workgroup that arrives, it then adds
// the sums of all parts, and returns true.
bool join_parts(uint tile, uint part) {
    if (slice == 0) {
        [[unroll]] for (uint i = 0; i < SUMS; i++) partial[((tile * PARTS + part) * SUMS + i) * INVOCATIONS + id] = sums[i];
    }
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationID.x == 0) is_last = atomicAdd(arrived[tile], 1) == PARTS - 1;
    barrier();
    if (!is_last) return false;
    memoryBarrierBuffer();
    if (slice == 0) {
        [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] = C4(0);
        [[dont_unroll]] for (uint p = 0; p < PARTS; p++) {
            [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] += partial[((tile * PARTS + p) * SUMS + i) * INVOCATIONS + id];
        }
    }
    if (gl_LocalInvocationID.x == 0) arrived[tile] = 0;
    return true;
}

#ifdef ANY_FUNCTION
// store stores the result of a row and a column of the tile.
void store(uint row, uint col, C sum);

// store_all hands sums through shared memory, a row of every invocation at a time: a loop over
// registers with a large body would keep sums in memory.
void store_all() {
    [[dont_unroll]] for (uint r = 0; r < ROWS; r++) {
        barrier();
        [[unroll]] for (uint i = 0; i < SUMS; i++) {
            if (slice == 0 && i / (COLS / 4) == r) pool[(i % (COLS / 4)) * INVOCATIONS + id] = sums[i];
        }
        barrier();
        [[dont_unroll]] for (uint at = gl_LocalInvocationID.x; at < INVOCATIONS * COLS; at += gl_WorkGroupSize.x) {
            uint word = at / 4, from = word % INVOCATIONS, block = from / (DOWN * ACROSS), own = from % (DOWN * ACROSS);
            uint row = (block / BLOCKS * (DOWN * ROWS / 4) + own / ACROSS + r / 4 * DOWN) * 4 + r % 4;
            uint col = (block % BLOCKS * (ACROSS * COLS / 4) + own % ACROSS + word / INVOCATIONS * ACROSS) * 4 + at % 4;
            store(row, col, pool[word][at % 4]);
        }
    }
}
#else
// store stores the results of a row and four columns of the tile.
void store(uint row, uint col, C4 sum);

void store_all() {
    if (slice != 0) return;
    [[unroll]] for (uint i = 0; i < SUMS; i++) store(row_of(i), col_of(i), sums[i]);
}
#endif

// multiply computes one of the parts of a tile with k terms, and stores the results in the last of
// them. No part of a step depends on whether another follows.
void multiply(uint k, uint tile, uint part) {
    const uint TERMS = STEP * SLICES;
    uint steps = (k + TERMS - 1) / TERMS, first = part * ((steps + PARTS - 1) / PARTS) * TERMS;
    uint end = min(k, first + (steps + PARTS - 1) / PARTS * TERMS);
    uint base = slice * STAGED, now = 0;
    [[unroll]] for (uint i = 0; i < SUMS; i++) sums[i] = C4(0);
    fetch(first + slice * STEP, end);
    stage(base);
    barrier();
    [[dont_unroll]] for (uint k0 = first; k0 < end; k0 += TERMS) {
        fetch(k0 + TERMS + slice * STEP, end);
        compute(base + now);
        if (STAGES == 1) barrier();
        else now = SLICES * STAGED - now;
        stage(base + now);
        barrier();
    }
    join_slices();
    if (PARTS > 1 && !join_parts(tile, part)) return;
    store_all();
}

#endif
