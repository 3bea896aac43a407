// cells computes steps [from, to) of recurrent networks, a sequence and direction per workgroup.
// sums holds the products of inputs and weights: [directions,steps,batch,gates*n], or with batch
// before steps if BATCH_FIRST is set. GATES is 1 for RNN, 3 for GRU and 4 for LSTM. KIND_0 to
// KIND_2 are the functions of the first direction, and KIND_3 to KIND_5 of the second.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "unary_float.glsl"

layout(constant_id = 1) const uint GATES = 1;
layout(constant_id = 2) const uint LINEAR = 0;       // GRU's linear_before_reset
layout(constant_id = 3) const uint INPUT_FORGET = 0; // LSTM's forget gate is 1 - input gate
layout(constant_id = 4) const uint BATCH_FIRST = 0;
layout(constant_id = 5) const uint REVERSE = 0; // the first direction runs from the end
layout(constant_id = 6) const uint KIND_0 = 0;
layout(constant_id = 7) const uint KIND_1 = 0;
layout(constant_id = 8) const uint KIND_2 = 0;
layout(constant_id = 9) const uint KIND_3 = 0;
layout(constant_id = 10) const uint KIND_4 = 0;
layout(constant_id = 11) const uint KIND_5 = 0;

layout(std430, binding = 0) readonly buffer Sums { T sums[]; };
layout(std430, binding = 1) readonly buffer Weights { T r[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Lengths { int lengths[]; };
layout(std430, binding = 4) readonly buffer State0 { T state0[]; };
layout(std430, binding = 5) readonly buffer Cell0 { T cell0[]; };
layout(std430, binding = 6) readonly buffer Peepholes { T peepholes[]; };
layout(std430, binding = 7) writeonly buffer Y { T y[]; };
layout(std430, binding = 8) writeonly buffer StateN { T state_n[]; };
layout(std430, binding = 9) writeonly buffer CellN { T cell_n[]; };
layout(std430, binding = 10) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint steps, batch, n, directions;
    uint from, to;
    uint has;   // bits: bias, lengths, first state, first cell, peepholes
    uint wants; // bits: y, last state, last cell
    float clip_;
    float alpha[6], beta[6];
};

#define AFFINE 1000
#define SCALED_TANH 1001
const uint MOST = 1024; // units
const uint SIDE = 128;  // invocations

shared float state[MOST];
shared float cell[MOST];
shared float reset[MOST];

float apply(uint which, uint direction, float x) {
    uint kind = direction == 0 ? (which == 0 ? KIND_0 : which == 1 ? KIND_1 : KIND_2) : (which == 0 ? KIND_3 : which == 1 ? KIND_4 : KIND_5);
    float a = alpha[3 * direction + which], b = beta[3 * direction + which];
    if (kind == AFFINE) return a * x + b;
    if (kind == SCALED_TANH) return a * m_tanh(b * x);
    return unary(kind, x, a, b);
}

float clipped(float x) { return is_nan(x) ? x : clamp(x, -clip_, clip_); }

uint gate_at(uint direction, uint gate, uint j) { return (direction * GATES + gate) * n + j; }

float input_bias(uint direction, uint gate, uint j) { return (has & 1) == 0 ? 0.0 : LOAD(bias[(direction * 2 * GATES + gate) * n + j]); }
float state_bias(uint direction, uint gate, uint j) { return (has & 1) == 0 ? 0.0 : LOAD(bias[(direction * 2 * GATES + GATES + gate) * n + j]); }

float recurrence(uint direction, uint gate, uint j) {
    uint at = gate_at(direction, gate, j) * n;
    float sum = 0.0;
    for (uint i = 0; i < n; i++) sum += LOAD(r[at + i]) * state[i];
    return sum;
}

float from_reset(uint direction, uint gate, uint j) {
    uint at = gate_at(direction, gate, j) * n;
    float sum = 0.0;
    for (uint i = 0; i < n; i++) sum += LOAD(r[at + i]) * reset[i];
    return sum;
}

float peephole(uint direction, uint gate, uint j) { return (has & 16) == 0 ? 0.0 : LOAD(peepholes[(direction * 3 + gate) * n + j]); }

void main() {
    uint id = gl_LocalInvocationID.x, lane = flat_group();
    if (lane >= directions * batch) return;
    uint direction = lane / batch, b = lane % batch;
    bool backward = direction == 1 || REVERSE != 0;
    int given = (has & 2) != 0 ? lengths[b] : int(steps);
    uint count = uint(clamp(given, 0, int(steps)));
    if (id == 0 && given != int(count)) atomicMax(fault, ~b);
    uint first = BATCH_FIRST != 0 ? (b * directions + direction) * n : (direction * batch + b) * n;
    for (uint j = id; j < n; j += SIDE) {
        state[j] = (has & 4) != 0 ? LOAD(state0[first + j]) : 0.0;
        cell[j] = (has & 8) != 0 ? LOAD(cell0[first + j]) : 0.0;
    }
    barrier();
    for (uint s = from; s < to; s++) {
        uint t = backward && s < count ? count - 1 - s : s;
        uint row = (BATCH_FIRST != 0 ? b * steps + t : t * batch + b);
        uint sums_at = (direction * steps * batch + row) * GATES * n;
        uint y_at = (BATCH_FIRST != 0 ? (row * directions + direction) : (t * directions + direction) * batch + b) * n;
        float next[MOST / SIDE], update[MOST / SIDE];
        if (GATES == 3) {
            for (uint j = id, c = 0; j < n; j += SIDE, c++) {
                float x0 = LOAD(sums[sums_at + j]) + input_bias(direction, 0, j) + state_bias(direction, 0, j) + recurrence(direction, 0, j);
                float x1 = LOAD(sums[sums_at + n + j]) + input_bias(direction, 1, j) + state_bias(direction, 1, j) + recurrence(direction, 1, j);
                update[c] = apply(0, direction, clipped(x0));
                float open = apply(0, direction, clipped(x1));
                reset[j] = LINEAR != 0 ? open : open * state[j];
            }
            barrier();
        }
        for (uint j = id, c = 0; j < n; j += SIDE, c++) {
            float x0 = LOAD(sums[sums_at + j]) + input_bias(direction, 0, j) + state_bias(direction, 0, j);
            if (GATES == 1) {
                next[c] = apply(0, direction, clipped(x0 + recurrence(direction, 0, j)));
            } else if (GATES == 3) {
                float x2 = LOAD(sums[sums_at + 2 * n + j]) + input_bias(direction, 2, j);
                if (LINEAR != 0) {
                    x2 += reset[j] * (recurrence(direction, 2, j) + state_bias(direction, 2, j));
                } else {
                    x2 += from_reset(direction, 2, j) + state_bias(direction, 2, j);
                }
                float hidden = apply(1, direction, clipped(x2));
                next[c] = (1.0 - update[c]) * hidden + update[c] * state[j];
            } else {
                float x[4];
                for (uint g = 0; g < 4; g++) x[g] = LOAD(sums[sums_at + g * n + j]) + input_bias(direction, g, j) + state_bias(direction, g, j) + recurrence(direction, g, j);
                float open = apply(0, direction, clipped(x[0] + peephole(direction, 0, j) * cell[j]));
                float keep = INPUT_FORGET != 0 ? 1.0 - open : apply(0, direction, clipped(x[2] + peephole(direction, 2, j) * cell[j]));
                float now = keep * cell[j] + open * apply(1, direction, clipped(x[3]));
                if (s < count) cell[j] = now;
                next[c] = apply(0, direction, clipped(x[1] + peephole(direction, 1, j) * now)) * apply(2, direction, now);
            }
        }
        barrier();
        for (uint j = id, c = 0; j < n; j += SIDE, c++) {
            if (s < count) state[j] = next[c];
            if ((wants & 1) != 0) y[y_at + j] = STORE(s < count ? next[c] : 0.0);
        }
        barrier();
    }
    for (uint j = id; j < n; j += SIDE) {
        if ((wants & 2) != 0) state_n[first + j] = STORE(state[j]);
        if ((wants & 4) != 0) cell_n[first + j] = STORE(cell[j]);
    }
}
