// attention computes y = sum of weights of keys times values, a query per workgroup. The weights
// are the softmax of F(scale q k) plus a mask. Keys are read in blocks of SIDE, an invocation per
// key. The greatest score and the sum of weights are updated after every block.
//
// MASK is 0 for no mask, 1 for floats that are added, and 2 for bytes, where 0 hides a key. KEYS is
// the form of the integers that select keys, a KeyMask of runtime/internal/ops/attention; filter_
// is added to the scores of all other keys. SINK adds a score without a value to each head: 0 if
// SINK is 1, an element of the operand if 2. STAGE selects scores to show: 1 products, 2 capped, 3
// masked, 4 weights, 0 none. If CUT is set, the keys of a query are split among parts workgroups.
// Each writes its greatest score, sum of weights and weighted sum of values, and attention/join
// combines them. NANS is the argument nans of weighted. With CODES, keys and values are rows of
// include/codes.glsl, and their strides are bytes.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "math_active.glsl"
#include "ints.glsl"
#include "weighted.glsl"
#ifdef MASK_BYTES
#extension GL_EXT_shader_8bit_storage : require
#define M uint8_t
#else
#define M T
#endif
#ifdef CODES
#include "codes.glsl"
#define B uint
#else
#define B T
#endif

layout(constant_id = 1) const uint MASK = 0;
layout(constant_id = 2) const uint CAUSAL = 0;
layout(constant_id = 3) const uint WINDOW = 0; // most keys that a query sees; 0 for all
layout(constant_id = 4) const uint LENGTHS = 0;
layout(constant_id = 5) const uint KEYS = 0;
layout(constant_id = 6) const uint KEY_WORDS = 1; // words of an integer of KEYS
layout(constant_id = 7) const uint SINK = 0;
layout(constant_id = 8) const uint STAGE = 0;
layout(constant_id = 9) const uint SIDE_BY_SIDE = 0; // heads of the result are side by side in rows
layout(constant_id = 10) const uint CUT = 0;
layout(constant_id = 11) const uint NANS = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { B k[]; };
layout(std430, binding = 2) readonly buffer V { B v[]; };
layout(std430, binding = 3) readonly buffer Mask { M mask[]; };
layout(std430, binding = 4) readonly buffer There { int there[]; };
layout(std430, binding = 5) readonly buffer Lengths { int lengths[]; };
layout(std430, binding = 6) readonly buffer Sink { T sink[]; };
layout(std430, binding = 7) writeonly buffer Shown { T shown[]; };
layout(std430, binding = 8) writeonly buffer Y { T y[]; };
layout(std430, binding = 9) writeonly buffer Parts { float of_parts[]; };

layout(push_constant) uniform Words {
    uint batch, heads, group, rows, keys, size, width; // group: query heads per key head
    uint q_start, q_batch, q_head, q_row;
    uint k_start, k_batch, k_head, k_row;
    uint v_start, v_batch, v_head, v_row;
    uint m_batch, m_head, m_row, m_col;
    int m_cols; // columns of the mask; negative for all keys
    float scale, cap;
    int past;       // keys before the key of the first query, without lengths
    int there_cols; // columns of the integers of KEYS
    float filter_;
    uint parts;
};

const uint MOST = 256; // elements of a head
const uint SIDE = 64;  // invocations of a workgroup

shared float query[MOST];
shared float weight[SIDE];
shared float part[SIDE];
#ifdef CODES
shared float factors[MOST / BLOCK][SIDE]; // weights times the scales of blocks of values
#endif

float greatest(float x) {
    uint id = gl_LocalInvocationID.x;
    barrier();
    part[id] = x;
    barrier();
    for (uint step = SIDE / 2; step > 0; step /= 2) {
        if (id < step) part[id] = max_nan(part[id], part[id + step]);
        barrier();
    }
    return part[0];
}

// Seen is the keys lo to hi - 1 that a query sees, of total keys. position is the query's own key.
struct Seen {
    int lo, hi, total, position;
};

Seen seen_by(uint b, uint row) {
    Seen s = Seen(0, int(keys), int(keys), past + int(row));
    if (LENGTHS != 0) {
        s.position = lengths[b] + int(row);
        s.hi = lengths[batch + b];
        s.total = lengths[2 * batch];
    }
    if (CAUSAL != 0 && KEYS == 0) s.hi = min(s.hi, s.position + 1);
    if (WINDOW > 0) s.lo = max(0, s.position + 1 - int(WINDOW));
    if (MASK != 0 && m_cols >= 0) s.hi = min(s.hi, m_cols);
    return s;
}

int integer(int i) { return INT_OF(there, i, KEY_WORDS); }

// of_key returns the number that KEYS and CAUSAL add to the score of a key.
float of_key(uint b, uint row, int key, Seen s) {
    if (CAUSAL != 0 && key > s.position) return -3.402823466e+38;
    bool is = false;
    switch (KEYS) {
    case 1: is = key < integer(int(b)); break;
    case 2: is = key >= integer(int(batch + b)) && key < integer(int(b)); break;
    case 3: {
        int always = s.total - there_cols;
        is = key < always || integer(int(b) * there_cols + key - always) > 0;
        break;
    }
    case 4: is = integer((int(b) * int(rows) + int(row)) * there_cols + key) > 0; break;
    case 5: is = integer((int(b) * there_cols + s.position) * there_cols + key) > 0; break;
    }
    return is ? 0.0 : filter_;
}

// product returns the product of the query and the key at k[at].
float product(uint at) {
    float sum = 0.0;
#ifdef CODES
    for (uint first = 0; first < size; first += BLOCK) {
        float of_codes = 0.0;
        uint i = first, end = min(first + BLOCK, size);
        for (; i + 4 <= end; i += 4) {
            of_codes += dot(vec4(query[i], query[i + 1], query[i + 2], query[i + 3]), codes_of(WORD_OF(k, at + i)));
        }
        for (; i < end; i++) of_codes += query[i] * float(CODE_OF(k, at + i, 1));
        sum += of_codes * ROW_SCALE(k, at, size, first / BLOCK);
    }
#else
    for (uint i = 0; i < size; i++) sum += query[i] * LOAD(k[at + i]);
#endif
    return sum;
}

// score_of returns the score of a key at a stage.
float score_of(uint b, uint row, int key, uint k_at, uint m_at, Seen s, uint stage) {
    float score = product(k_at + uint(key) * k_row) * scale;
    if (cap != 0.0 && stage > 1) score = cap * m_tanh(score / cap);
    if (stage <= 2) return score;
    if (key < s.lo || key >= s.hi) return -INFINITY;
#ifdef MASK_BYTES
    if (MASK == 2 && uint(mask[m_at + uint(key) * m_col]) == 0u) return -INFINITY;
#else
    if (MASK == 1) score += LOAD(mask[m_at + uint(key) * m_col]);
#endif
    if (KEYS != 0) score += of_key(b, row, key, s);
    return score;
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
    Seen s = seen_by(b, row);
    for (uint i = id; i < size; i += SIDE) query[i] = LOAD(q[q_at + i]);
    barrier();

    float top = -INFINITY, sum = 0.0;
    if (SINK != 0 && own == 0) {
        top = SINK == 1 ? 0.0 : LOAD(sink[head]);
        sum = 1.0;
    }
    float acc[MOST / SIDE];
    [[unroll]] for (uint c = 0; c < MOST / SIDE; c++) acc[c] = 0.0;
    int begin = s.lo / int(SIDE) * int(SIDE), end = s.hi;
    if (CUT != 0) {
        int blocks = (max(end - begin, 0) + int(SIDE) - 1) / int(SIDE);
        int each = (blocks + int(parts) - 1) / int(parts) * int(SIDE);
        begin += int(own) * each;
        end = min(end, begin + each);
    }
    for (int first = begin; first < end; first += int(SIDE)) {
        int j = first + int(id);
        float score = j < end ? score_of(b, row, j, k_at, m_at, s, 3) : -INFINITY;
        float now = max_nan(top, greatest(score));
        float shift = now == -INFINITY ? 0.0 : now;
        float w = score == -INFINITY ? 0.0 : m_exp(score - shift);
        float factor = top == -INFINITY ? 0.0 : m_exp(top - shift);
        top = now;
        weight[id] = w;
#ifdef CODES
        for (uint c = 0; c < blocks_of(width) && j < end; c++) {
            factors[c][id] = w * ROW_SCALE(v, v_at + uint(j) * v_row, width, c);
        }
#endif
        barrier();
        sum *= factor;
        uint count = uint(min(int(SIDE), end - first));
        for (uint i = 0; i < count; i++) sum += weight[i];
        [[unroll]] for (uint c = 0; c < MOST / SIDE; c++) {
            uint e = c * SIDE + id;
            if (e >= width) continue;
            float a = acc[c] * factor;
            for (uint i = 0; i < count; i++) {
                uint at = v_at + (uint(first) + i) * v_row + e;
#ifdef CODES
                a += factors[e / BLOCK][i] * float(CODE_OF(v, at, 1));
#else
                a += weight[i] * LOAD(v[at]);
#endif
            }
            acc[c] = a;
        }
    }
    if (CUT != 0) {
        uint at = (lane * parts + own) * (width + 2);
        if (id == 0) {
            of_parts[at] = top;
            of_parts[at + 1] = sum;
        }
        [[unroll]] for (uint c = 0; c < MOST / SIDE; c++) {
            uint e = c * SIDE + id;
            if (e < width) of_parts[at + 2 + e] = acc[c];
        }
        return;
    }
    uint y_at = SIDE_BY_SIDE != 0 ? ((b * rows + row) * heads + head) * width : lane * width;
    [[unroll]] for (uint c = 0; c < MOST / SIDE; c++) {
        uint e = c * SIDE + id;
        if (e < width) y[y_at + e] = STORE(weighted(acc[c], sum, NANS));
    }
    if (STAGE == 0) return;
    for (uint j = id; j < keys; j += SIDE) {
        float score = score_of(b, row, int(j), k_at, m_at, s, STAGE);
        if (STAGE == 4) score = score == -INFINITY || sum == 0.0 ? 0.0 : m_exp(score - top) / sum;
        shown[lane * keys + j] = STORE(score);
    }
}
