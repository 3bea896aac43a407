// Operands and scores of attention/attention and attention/tile: y = sum of weights of keys times
// values. The weights are the softmax of F(scale q k) plus a mask.
//
// MASK is 0 for no mask, 1 for floats that are added, and 2 for bytes, where 0 hides a key. KEYS is
// the form of the integers that select keys, a KeyMask of runtime/internal/ops/attention; filter_
// is added to the scores of all other keys. SINK adds a score without a value to each head: 0 if
// SINK is 1, an element of the operand if 2. If CUT is set, the keys of a query are split among
// parts workgroups. Each writes its greatest score, sum of weights and weighted sum of values, and
// attention/join combines them. NANS is the argument nans of weighted. K_WORDS and V_WORDS say
// whether keys and values are read by whole words of four elements. With CODES, they are rows of
// include/codes.glsl, and their strides are bytes.
#ifndef ATTENTION_GLSL
#define ATTENTION_GLSL

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
layout(constant_id = 8) const uint SIDE_BY_SIDE = 0; // heads of the result are side by side in rows
layout(constant_id = 9) const uint CUT = 0;
layout(constant_id = 10) const uint NANS = 0;
layout(constant_id = 11) const uint K_WORDS = 0;
layout(constant_id = 12) const uint V_WORDS = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { B k[]; };
layout(std430, binding = 2) readonly buffer V { B v[]; };
#ifndef CODES
layout(std430, binding = 1) readonly buffer KWords { T4 k_words[]; };
layout(std430, binding = 2) readonly buffer VWords { T4 v_words[]; };
#endif
layout(std430, binding = 3) readonly buffer Mask { M mask[]; };
layout(std430, binding = 4) readonly buffer There { int there[]; };
layout(std430, binding = 5) readonly buffer Lengths { int lengths[]; };
layout(std430, binding = 6) readonly buffer Sink { T sink[]; };
layout(std430, binding = 7) writeonly buffer Y { T y[]; };
layout(std430, binding = 8) writeonly buffer Parts { float of_parts[]; };

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
const uint SIDE = 64;  // invocations of a workgroup, and keys of a block

// key_word and value_word return elements e to e + 3 of the key or value that begins at an element
// or byte. Elements past the end are any numbers with CODES, and 0 without.
#ifdef CODES
vec4 key_word(uint at, uint e) { return CODES_OF(k, at, size, e) * ROW_SCALE(k, at, size, e / BLOCK); }

vec4 value_word(uint at, uint e) { return CODES_OF(v, at, width, e) * ROW_SCALE(v, at, width, e / BLOCK); }
#else
vec4 key_word(uint at, uint e) {
    if (K_WORDS != 0) return LOAD4(k_words[(at + e) / 4]);
    vec4 x = vec4(LOAD(k[at + e]), 0.0, 0.0, 0.0);
    if (e + 1 < size) x.y = LOAD(k[at + e + 1]);
    if (e + 2 < size) x.z = LOAD(k[at + e + 2]);
    if (e + 3 < size) x.w = LOAD(k[at + e + 3]);
    return x;
}

vec4 value_word(uint at, uint e) {
    if (V_WORDS != 0) return LOAD4(v_words[(at + e) / 4]);
    vec4 x = vec4(LOAD(v[at + e]), 0.0, 0.0, 0.0);
    if (e + 1 < width) x.y = LOAD(v[at + e + 1]);
    if (e + 2 < width) x.z = LOAD(v[at + e + 2]);
    if (e + 3 < width) x.w = LOAD(v[at + e + 3]);
    return x;
}
#endif

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

// part_of returns the first key and the end of the part that a workgroup has of the keys from lo to
// hi - 1. Parts are whole blocks.
ivec2 part_of(int lo, int hi, uint part) {
    int begin = lo / int(SIDE) * int(SIDE);
    if (CUT == 0) return ivec2(begin, hi);
    int blocks = (max(hi - begin, 0) + int(SIDE) - 1) / int(SIDE);
    int each = (blocks + int(parts) - 1) / int(parts) * int(SIDE);
    begin += int(part) * each;
    return ivec2(begin, min(hi, begin + each));
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

float capped(float score) { return cap != 0.0 ? cap * m_tanh(score / cap) : score; }

// masked returns the score of a key that a query sees. Other keys have the score -INFINITY.
float masked(float score, uint b, uint row, int key, uint m_at, Seen s) {
    if (key < s.lo || key >= s.hi) return -INFINITY;
#ifdef MASK_BYTES
    if (MASK == 2 && uint(mask[m_at + uint(key) * m_col]) == 0u) return -INFINITY;
#else
    if (MASK == 1) score += LOAD(mask[m_at + uint(key) * m_col]);
#endif
    if (KEYS != 0) score += of_key(b, row, key, s);
    return score;
}

// result_at returns the first element of the result of a query.
uint result_at(uint b, uint head, uint row) {
    return (SIDE_BY_SIDE != 0 ? (b * rows + row) * heads + head : (b * heads + head) * rows + row) * width;
}

// part_at returns the first number of a part of a query.
uint part_at(uint b, uint head, uint row, uint part) {
    return (((b * heads + head) * rows + row) * parts + part) * (width + 2);
}

#endif
