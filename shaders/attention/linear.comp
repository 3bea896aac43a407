// linear computes linear attention as a recurrence over tokens, a column of a head's state per
// invocation. A token scales the rows of the state by exp(decay). It then adds k v^T, or, with
// BETAS, k (beta (v - state^T k))^T. Queries read scale * state^T q. sums holds the state while it
// is computed. present receives the states after each of the last slots tokens.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math.glsl"

layout(constant_id = 1) const uint BETAS = 0;
layout(constant_id = 2) const uint HAS_PAST = 0;
layout(constant_id = 3) const uint WANTS = 0;

layout(std430, binding = 0) readonly buffer Q { T q[]; };
layout(std430, binding = 1) readonly buffer K { T k[]; };
layout(std430, binding = 2) readonly buffer V { T v[]; };
layout(std430, binding = 3) readonly buffer Past { T past[]; };
layout(std430, binding = 4) readonly buffer Decay { T decay[]; };
layout(std430, binding = 5) readonly buffer Beta { T beta[]; };
layout(std430, binding = 6) writeonly buffer Y { T y[]; };
layout(std430, binding = 7) writeonly buffer Present { T present[]; };
layout(std430, binding = 8) buffer Sums { float sums[]; };

layout(push_constant) uniform Words {
    uint batch, tokens, heads, kv_heads, dk, dv;
    uint decay_cols, beta_cols; // columns of a token; 0 for none
    uint slots;
    float scale;
};


void main() {
    uint at = flat_index();
    if (at >= batch * kv_heads * dv) return;
    uint m = at % dv, h = at / dv % kv_heads, b = at / dv / kv_heads;
    uint matrix = dk * dv, here = (b * kv_heads + h) * matrix + m, all = batch * kv_heads * matrix;
    uint queries = heads > kv_heads ? heads / kv_heads : 1, out_heads = max(heads, kv_heads);
    uint first = heads > kv_heads ? h * queries : h / (kv_heads / heads);
    uint per_head = decay_cols / kv_heads;
    for (uint d = 0; d < dk; d++) sums[here + d * dv] = HAS_PAST != 0 ? LOAD(past[(slots - 1) * all + here + d * dv]) : 0.0;
    for (uint s = 0; WANTS != 0 && s + tokens < slots; s++) {
        for (uint d = 0; d < dk; d++) present[s * all + here + d * dv] = STORE(0.0);
    }
    for (uint t = 0; t < tokens; t++) {
        uint token = b * tokens + t, key = (token * kv_heads + h) * dk;
        float found = 0.0;
        for (uint d = 0; d < dk; d++) {
            uint e = here + d * dv;
            if (decay_cols != 0) sums[e] *= m_exp(LOAD(decay[token * decay_cols + h * per_head + (per_head > 1 ? d : 0)]));
            found += sums[e] * LOAD(k[key + d]);
        }
        float add = LOAD(v[(token * kv_heads + h) * dv + m]);
        if (BETAS != 0) add = LOAD(beta[token * beta_cols + (beta_cols > 1 ? h : 0)]) * (add - found);
        for (uint d = 0; d < dk; d++) sums[here + d * dv] += LOAD(k[key + d]) * add;
        for (uint i = 0; i < queries; i++) {
            float sum = 0.0;
            for (uint d = 0; d < dk; d++) sum += sums[here + d * dv] * LOAD(q[(token * heads + first + i) * dk + d]);
            y[(token * out_heads + h * queries + i) * dv + m] = STORE(sum * scale);
        }
        if (WANTS != 0 && t + slots >= tokens) {
            for (uint d = 0; d < dk; d++) present[(t + slots - tokens) * all + here + d * dv] = STORE(sums[here + d * dv]);
        }
    }
}
