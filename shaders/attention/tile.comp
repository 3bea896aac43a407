// tile computes the results of include/attention.glsl for ROWS queries of a head per workgroup.
// Scores of SIDE keys at a time are products of tiles, 4 by 4 of an invocation, with STEP elements of
// queries and keys in shared memory. The greatest scores and the sums of weights are updated after
// every block; results are sums over blocks, with STEP values of 64 elements in shared memory. An
// invocation has WIDE words of four elements of 4 results.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "attention.glsl"

layout(constant_id = 13) const uint WIDE = 1;
layout(constant_id = 14) const uint STEP = 16;

const uint ROWS = 16, WORDS = ROWS / 4, LANES = SIDE / 4; // invocations that share four queries
const uint STRIDE = LANES + 1;                            // words of a row of keys or values

shared vec4 left[STEP * WORDS];   // queries: elements by queries
shared vec4 right[STEP * STRIDE]; // elements by keys, or values by elements
shared vec4 weight[SIDE * WORDS]; // keys by queries: scores, then weights
shared vec4 part[SIDE];           // a number of each query of an invocation

uint b, head, row0, tr, tc, id;

vec4 exp_of(vec4 x) { return vec4(m_exp(x.x), m_exp(x.y), m_exp(x.z), m_exp(x.w)); }

// stage_products puts elements e0 to e0 + STEP - 1 of queries and keys into shared memory. Those
// past an end are 0.
void stage_products(uint e0, int first, int end) {
    uint q_at = q_start + b * q_batch + head * q_head, k_at = k_start + b * k_batch + head / group * k_head;
    for (uint i = id; i < ROWS * STEP; i += SIDE) {
        uint row = i / STEP, e = i % STEP;
        bool inside = row0 + row < rows && e0 + e < size;
        left[e * WORDS + row / 4][row % 4] = inside ? LOAD(q[q_at + (row0 + row) * q_row + e0 + e]) : 0.0;
    }
    [[unroll]] for (uint i = 0; i < STEP / 4; i++) {
        uint at = id + i * SIDE, key = at / (STEP / 4), e = at % (STEP / 4) * 4;
        bool inside = first + int(key) < end && e0 + e < size;
        vec4 x = inside ? key_word(k_at + (uint(first) + key) * k_row, e0 + e) : vec4(0.0);
        [[unroll]] for (uint c = 0; c < 4; c++) right[(e + c) * STRIDE + key / 4][key % 4] = x[c];
    }
}

// stage_values puts values at to at + STEP - 1 of a block, and 64 elements from e0 on, into shared
// memory.
void stage_values(uint at, uint e0, int first, int end) {
    uint v_at = v_start + b * v_batch + head / group * v_head;
    [[unroll]] for (uint i = 0; i < STEP * LANES / SIDE; i++) {
        uint word = id + i * SIDE, row = at + word / LANES, e = e0 + word % LANES * 4;
        bool inside = first + int(row) < end && e < width;
        right[word / LANES * STRIDE + word % LANES] = inside ? value_word(v_at + (uint(first) + row) * v_row, e) : vec4(0.0);
    }
}

// store_scores puts the scores of keys first to first + 63 into weight.
void store_scores(int first, int end) {
    vec4 s[4]; // a query's scores of four keys
    [[unroll]] for (uint r = 0; r < 4; r++) s[r] = vec4(0.0);
    for (uint e0 = 0; e0 < size; e0 += STEP) {
        barrier();
        stage_products(e0, first, end);
        barrier();
        [[unroll]] for (uint e = 0; e < STEP; e++) {
            vec4 x = left[e * WORDS + tr], y = right[e * STRIDE + tc];
            [[unroll]] for (uint r = 0; r < 4; r++) s[r] += x[r] * y;
        }
    }
    [[unroll]] for (uint j = 0; j < 4; j++) {
        weight[(tc * 4 + j) * WORDS + tr] = vec4(s[0][j], s[1][j], s[2][j], s[3][j]);
    }
    [[dont_unroll]] for (uint i = 0; i < 16; i++) {
        uint row = row0 + tr * 4 + i % 4, at = (tc * 4 + i / 4) * WORDS + tr;
        uint m_at = b * m_batch + head * m_head + row * m_row;
        int key = first + int(tc * 4 + i / 4);
        float score = -INFINITY;
        if (row < rows && key < end) score = masked(capped(weight[at][i % 4] * scale), b, row, key, m_at, seen_by(b, row));
        weight[at][i % 4] = score;
    }
}

// joined_max and joined_sum combine x of all invocations that share queries.
vec4 joined_max(vec4 x) {
    part[id] = x;
    barrier();
    for (uint i = 0; i < LANES; i++) {
        vec4 y = part[tr * LANES + i];
        [[unroll]] for (uint r = 0; r < 4; r++) x[r] = max_nan(x[r], y[r]);
    }
    return x;
}

vec4 joined_sum(vec4 x) {
    part[id] = x;
    barrier();
    x = vec4(0.0);
    for (uint i = 0; i < LANES; i++) x += part[tr * LANES + i];
    return x;
}

void main() {
    uint tiles = (rows + ROWS - 1) / ROWS, own = CUT != 0 ? flat_group() % parts : 0;
    uint tile = CUT != 0 ? flat_group() / parts : flat_group();
    if (tile >= batch * heads * tiles) return;
    id = gl_LocalInvocationID.x;
    tr = id / LANES;
    tc = id % LANES;
    row0 = tile % tiles * ROWS;
    head = tile / tiles % heads;
    b = tile / tiles / heads;
    Seen low = seen_by(b, row0), high = seen_by(b, min(row0 + ROWS, rows) - 1);
    ivec2 keys_of = part_of(low.lo, high.hi, own);

    vec4 top = vec4(-INFINITY), sum = vec4(0.0), acc[4 * WIDE];
    if (SINK != 0 && own == 0) {
        top = vec4(SINK == 1 ? 0.0 : LOAD(sink[head]));
        sum = vec4(tc == 0 ? 1.0 : 0.0);
    }
    [[unroll]] for (uint i = 0; i < 4 * WIDE; i++) acc[i] = vec4(0.0);
    for (int first = keys_of.x; first < keys_of.y; first += int(SIDE)) {
        int end = min(first + int(SIDE), keys_of.y);
        // Values that some queries of the tile do not see may be NaN.
        bool all_see = first >= high.lo && end <= low.hi;
        store_scores(first, end);
        vec4 now = top, shift, factor;
        [[unroll]] for (uint j = 0; j < 4; j++) {
            vec4 x = weight[(tc * 4 + j) * WORDS + tr];
            [[unroll]] for (uint r = 0; r < 4; r++) now[r] = max_nan(now[r], x[r]);
        }
        now = joined_max(now);
        [[unroll]] for (uint r = 0; r < 4; r++) {
            shift[r] = now[r] == -INFINITY ? 0.0 : now[r];
            factor[r] = top[r] - shift[r];
        }
        factor = exp_of(factor);
        top = now;
        sum *= factor;
        [[dont_unroll]] for (uint j = 0; j < 4; j++) {
            uint at = (tc * 4 + j) * WORDS + tr;
            vec4 w = exp_of(weight[at] - shift);
            weight[at] = w;
            sum += w;
        }
        [[unroll]] for (uint i = 0; i < 4 * WIDE; i++) acc[i] *= factor[i / WIDE];
        for (uint at = 0; first + int(at) < end; at += STEP) {
            [[unroll]] for (uint c = 0; c < WIDE; c++) {
                barrier();
                stage_values(at, c * SIDE, first, end);
                barrier();
                if (all_see) {
                    [[unroll]] for (uint i = 0; i < STEP; i++) {
                        vec4 w = weight[(at + i) * WORDS + tr], x = right[i * STRIDE + tc];
                        [[unroll]] for (uint r = 0; r < 4; r++) acc[r * WIDE + c] += w[r] * x;
                    }
                } else {
                    [[unroll]] for (uint i = 0; i < STEP; i++) {
                        vec4 w = weight[(at + i) * WORDS + tr], x = right[i * STRIDE + tc];
                        [[unroll]] for (uint r = 0; r < 4; r++) acc[r * WIDE + c] += w[r] == 0.0 ? vec4(0.0) : w[r] * x;
                    }
                }
            }
        }
    }
    barrier();
    sum = joined_sum(sum);
    [[unroll]] for (uint r = 0; r < 4; r++) {
        uint row = row0 + tr * 4 + r;
        if (row >= rows) continue;
        uint y_at = result_at(b, head, row), p_at = part_at(b, head, row, own);
        if (CUT != 0 && tc == 0) {
            of_parts[p_at] = top[r];
            of_parts[p_at + 1] = sum[r];
        }
        [[unroll]] for (uint c = 0; c < WIDE; c++) {
            [[unroll]] for (uint i = 0; i < 4; i++) {
                uint e = c * SIDE + tc * 4 + i;
                if (e >= width) continue;
                if (CUT != 0) of_parts[p_at + 2 + e] = acc[r * WIDE + c][i];
                else y[y_at + e] = STORE(weighted(acc[r * WIDE + c][i], sum[r], NANS));
            }
        }
    }
}
