// Products of many rows [m,k] and weights [n,k] in runs, by tiles. Weights are decoded when they are
// staged, once for all rows of a tile. A slice has an invocation for each run of a step. ROW_WORDS
// says whether rows are read four elements at a time. Include it after types.glsl, m, n and k, the
// rows, run_at, decoded and take_sum, with PARTIAL for tile.glsl.
#ifndef RUNS_TILE_GLSL
#define RUNS_TILE_GLSL

#include "tile.glsl"

layout(constant_id = 10) const uint ROW_WORDS = 0;

const uint LEFT_EACH = TILE_M * STEP / 4 / INVOCATIONS;
const uint STEP_RUNS = STEP / RUN, RUNS = TILE_N * STEP_RUNS;
C4 next_left[LEFT_EACH];
Run next_run;
uint row0, col0;

C4 left_word(uint row, uint d, uint end) {
    uint at = row * k + d;
    if (ROW_WORDS != 0) return row < m && d < end ? LOAD4(a_words[at / 4]) : C4(0);
    C4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) v[e] = row < m && d + e < end ? LOAD(a[at + e]) : 0.0;
    return v;
}

void fetch(uint k0, uint end) {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uvec2 place = place_of(TILE_M, 0, id + i * INVOCATIONS);
        next_left[i] = left_word(row0 + place.x, k0 + place.y, end);
    }
    uint col = col0 + id / STEP_RUNS, d = k0 + id % STEP_RUNS * RUN;
    next_run = no_run();
    if (id < RUNS && col < n && d < end) next_run = run_at(col, d, k);
}

void stage(uint base) {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) put(base, TILE_M, 0, id + i * INVOCATIONS, next_left[i]);
    if (id >= RUNS) return;
    [[unroll]] for (uint w = 0; w < RUN / 4; w++) {
        put(base + STEP * LEFT_STRIDE, TILE_N, 0, id * (RUN / 4) + w, decoded(CODES_OF(next_run, w), next_run.by));
    }
}

void store(uint row, uint col, C4 sum) {
    row += row0, col += col0;
    [[unroll]] for (uint e = 0; e < 4; e++) {
        if (row < m && col + e < n) take_sum(row, col + e, sum[e]);
    }
}

void main() {
    find_place();
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    multiply(k, gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, gl_WorkGroupID.z);
}

#endif
