// Attention of a query, a group per query: y = sum of weights of keys times values, where
// weights are the softmax of F(scale q k) plus a mask. Keys are seen in blocks of a group's
// invocations, with the greatest score and the sum of weights so far. Of a query without any
// key the result is 0. MASK is 0 for none, 1 for floats that are added, 2 for bytes that
// hide keys where they are 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math_active.glsl"
#ifdef MASK_BYTES
#extension GL_EXT_shader_8bit_storage : require
#define M uint8_t
#else
#define M T
#endif

layout(constant_id = 1) const uint MASK = 0;
layout(constant_id = 2) const uint CAUSAL = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { T k[]; };
layout(std430, binding = 2) readonly buffer V { T v[]; };
layout(std430, binding = 3) readonly buffer Mask { M mask[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, heads, group, rows, keys, size, width; // group: queries' heads of a key's head
    uint q_start, q_batch, q_head, q_row;
    uint k_start, k_batch, k_head, k_row;
    uint v_start, v_batch, v_head, v_row;
    uint y_batch, y_head, y_row;
    uint m_batch, m_head, m_row, m_col;
    float scale, cap;
    uint past; // keys before that of the first query
};

const uint MOST = 256; // elements of a head
const uint SIDE = 64;  // invocations of a group

shared float query[MOST];
shared float weight[SIDE];
shared float part[SIDE];

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

void main() {
    uint lane = flat_group();
    if (lane >= total) return;
    uint id = gl_LocalInvocationID.x;
    uint row = lane % rows, head = lane / rows % heads, batch = lane / rows / heads;
    uint k_at = k_start + batch * k_batch + head / group * k_head;
    uint v_at = v_start + batch * v_batch + head / group * v_head;
    uint q_at = q_start + batch * q_batch + head * q_head + row * q_row;
    uint m_at = batch * m_batch + head * m_head + row * m_row;
    for (uint i = id; i < size; i += SIDE) query[i] = LOAD(q[q_at + i]);
    barrier();

    float top = -INFINITY, sum = 0.0;
    float acc[MOST / SIDE];
    for (uint c = 0; c < MOST / SIDE; c++) acc[c] = 0.0;
    uint end = CAUSAL != 0 ? min(keys, row + past + 1) : keys;
    for (uint first = 0; first < end; first += SIDE) {
        uint j = first + id;
        float score = -INFINITY;
        if (j < end) {
            float dot_ = 0.0;
            for (uint i = 0; i < size; i++) dot_ += query[i] * LOAD(k[k_at + j * k_row + i]);
            score = dot_ * scale;
            if (cap != 0.0) score = cap * m_tanh(score / cap);
#ifdef MASK_BYTES
            if (MASK == 2 && uint(mask[m_at + j * m_col]) == 0u) score = -INFINITY;
#else
            if (MASK == 1) score += LOAD(mask[m_at + j * m_col]);
#endif
        }
        float now = max_nan(top, greatest(score));
        float shift = now == -INFINITY ? 0.0 : now;
        float w = score == -INFINITY ? 0.0 : m_exp(score - shift);
        float factor = top == -INFINITY ? 0.0 : m_exp(top - shift);
        top = now;
        weight[id] = w;
        barrier();
        sum *= factor;
        uint count = min(SIDE, end - first);
        for (uint i = 0; i < count; i++) sum += weight[i];
        for (uint c = 0; c < MOST / SIDE; c++) {
            uint e = c * SIDE + id;
            if (e >= width) continue;
            float s = acc[c] * factor;
            for (uint i = 0; i < count; i++) s += weight[i] * LOAD(v[v_at + (first + i) * v_row + e]);
            acc[c] = s;
        }
    }
    for (uint c = 0; c < MOST / SIDE; c++) {
        uint e = c * SIDE + id;
        if (e < width) y[batch * y_batch + head * y_head + row * y_row + e] = STORE(sum == 0.0 ? 0.0 : acc[c] / sum);
    }
}
