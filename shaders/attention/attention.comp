// attention computes the results of include/attention.glsl, a query per workgroup. Keys are read in
// blocks of SIDE, an invocation per key. The greatest score is updated after every block. Invocations
// then have a word of four elements of the result each. Where there are more invocations than words,
// SETS of them take turns with the keys of a block. STAGE selects scores to show:
// 1 products, 2 capped, 3 masked, 4 weights, 0 none.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "attention.glsl"
#include "total.glsl"

layout(constant_id = 13) const uint STAGE = 0;

layout(std430, binding = 9) writeonly buffer Shown { T shown[]; };

shared vec4 query[MOST / 4]; // elements past the end are 0
shared float weight[SIDE];
shared vec4 sums[SIDE];
#ifdef CODES
shared float factors[MOST / BLOCK][SIDE]; // weights times the scales of blocks of values
#endif

// product returns the product of the query and the key at k[at].
float product(uint at) {
    vec4 sum = vec4(0.0);
#ifdef CODES
    for (uint first = 0; first < size; first += BLOCK) {
        vec4 of_codes = vec4(0.0);
        uint end = min(first + BLOCK, size);
        for (uint i = first; i < end; i += 4) of_codes += query[i / 4] * CODES_OF(k, at, size, i);
        sum += of_codes * ROW_SCALE(k, at, size, first / BLOCK);
    }
#else
    for (uint i = 0; i < size; i += 4) sum += query[i / 4] * key_word(at, i);
#endif
    return (sum.x + sum.y) + (sum.z + sum.w);
}

// weighted_word returns elements e to e + 3 of the value at v[at], times the weight of key i of the
// block.
vec4 weighted_word(uint at, uint e, uint i) {
#ifdef CODES
    return factors[e / BLOCK][i] * CODES_OF(v, at, width, e);
#else
    return weight[i] * value_word(at, e);
#endif
}

// score_of returns the score of a key at a stage.
float score_of(uint b, uint row, int key, uint k_at, uint m_at, Seen s, uint stage) {
    float score = product(k_at + uint(key) * k_row) * scale;
    if (stage > 1) score = capped(score);
    return stage > 2 ? masked(score, b, row, key, m_at, s) : score;
}

void main() {
    uint lane = CUT != 0 ? flat_group() / parts : flat_group(), own = CUT != 0 ? flat_group() % parts : 0;
    if (lane >= batch * heads * rows) return;
    uint id = gl_LocalInvocationID.x;
    uint row = lane % rows, head = lane / rows % heads, b = lane / rows / heads;
    uint k_at = k_start + b * k_batch + head / group * k_head;
    uint v_at = v_start + b * v_batch + head / group * v_head;
    uint q_at = q_start + b * q_batch + head * q_head + row * q_row;
    uint m_at = b * m_batch + head * m_head + row * m_row;
    uint words = (width + 3) / 4, sets = SIDE / max(words, 1), set = id / max(words, 1), word = id % max(words, 1);
    Seen s = seen_by(b, row);
    for (uint i = id; i < (size + 3) / 4 * 4; i += SIDE) query[i / 4][i % 4] = i < size ? LOAD(q[q_at + i]) : 0.0;
    barrier();

    float top = -INFINITY, sum = 0.0;
    if (SINK != 0 && own == 0) {
        top = SINK == 1 ? 0.0 : LOAD(sink[head]);
        sum = id == 0 ? 1.0 : 0.0;
    }
    vec4 acc = vec4(0.0);
    ivec2 keys_of = part_of(s.lo, s.hi, own);
    int end = keys_of.y;
    for (int first = keys_of.x; first < end; first += int(SIDE)) {
        int j = first + int(id);
        float score = j < end ? score_of(b, row, j, k_at, m_at, s, 3) : -INFINITY;
        float now = max_nan(top, greatest(score));
        float shift = now == -INFINITY ? 0.0 : now;
        float w = score == -INFINITY ? 0.0 : m_exp(score - shift);
        float factor = top == -INFINITY ? 0.0 : m_exp(top - shift);
        top = now;
        sum = sum * factor + w;
        weight[id] = w;
#ifdef CODES
        for (uint c = 0; c < blocks_of(width) && j < end; c++) {
            factors[c][id] = w * ROW_SCALE(v, v_at + uint(j) * v_row, width, c);
        }
#endif
        barrier();
        acc *= factor;
        uint count = set < sets ? uint(min(int(SIDE), end - first)) : 0;
        for (uint i = set; i < count; i += sets) acc += weighted_word(v_at + (uint(first) + i) * v_row, word * 4, i);
    }
    sum = total(sum);
    sums[id] = acc;
    barrier();
    if (id < words) {
        for (uint i = 1; i < sets; i++) acc += sums[i * words + id];
        uint y_at = result_at(b, head, row), p_at = part_at(b, head, row, own) + 2;
        for (uint e = id * 4, i = 0; i < 4 && e < width; e++, i++) {
            float x = i == 0 ? acc.x : i == 1 ? acc.y : i == 2 ? acc.z : acc.w;
            if (CUT != 0) of_parts[p_at + e] = x;
            else y[y_at + e] = STORE(weighted(x, sum, NANS));
        }
    }
    if (CUT != 0 && id == 0) {
        uint at = part_at(b, head, row, own);
        of_parts[at] = top;
        of_parts[at + 1] = sum;
    }
    if (STAGE == 0) return;
    for (uint j = id; j < keys; j += SIDE) {
        float score = score_of(b, row, int(j), k_at, m_at, s, STAGE);
        if (STAGE == 4) score = score == -INFINITY || sum == 0.0 ? 0.0 : m_exp(score - top) / sum;
        shown[lane * keys + j] = STORE(score);
    }
}
