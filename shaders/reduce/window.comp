// window computes OpenInfer's functions of elements along axes. Elements have 1 to 32 bits and are
// decoded in registers. An invocation computes a word of results, each of OUT_BITS, or one result
// of 64 bits. It reads elements in order. Sums and products of integers are computed in 64 bits. If
// the first element is NaN, it is the greatest and the least; later NaN are skipped.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "elements.glsl"
#include "tiny.glsl"
#include "window.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;
layout(constant_id = 6) const uint LAST = 0; // of equal elements the last counts

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words {
    uint total, count;              // results, and elements of each
    uint kept[4], kept_steps[4];    // axes of results
    uint over[4], over_steps[4];    // axes of the elements of one result
};

uint place(uint i, uint dims[4], uint steps[4]) {
    uint at = 0;
    for (int d = 3; d >= 0; d--) {
        at += i % dims[d] * steps[d];
        i /= dims[d];
    }
    return at;
}

uint code_at(uint result, uint k) {
    uint at = place(result, kept, kept_steps) + place(k, over, over_steps);
    return CODE_OF(x, at);
}

// wide returns an integer of 64 bits as its lower and upper word.
uvec2 wide(int v) { return uvec2(v, KIND == KIND_SIGNED && v < 0 ? 0xffffffffu : 0u); }

uvec2 sum(uvec2 u, uvec2 v) {
    uint carry, low = uaddCarry(u.x, v.x, carry);
    return uvec2(low, u.y + v.y + carry);
}

uvec2 product(uvec2 u, uvec2 v) {
    uint high, low;
    umulExtended(u.x, v.x, high, low);
    return uvec2(low, high + u.x * v.y + u.y * v.x);
}

uvec2 negative(uvec2 v) { return sum(~v, uvec2(1, 0)); }

// quotient returns v / n, rounded towards zero, for n below 2^31. It divides bit by bit.
uvec2 quotient(uvec2 v, uint n) {
    bool below_zero = KIND == KIND_SIGNED && v.y >> 31 != 0;
    if (below_zero) v = negative(v);
    uint rest = 0;
    for (int i = 0; i < 64; i++) {
        rest = rest << 1 | v.y >> 31;
        v = uvec2(v.x << 1, v.y << 1 | v.x >> 31);
        if (rest >= n) {
            rest -= n;
            v.x |= 1;
        }
    }
    return below_zero ? negative(v) : v;
}

uvec2 of_integers(uint result) {
    uvec2 all = uvec2(FUNCTION == F_prod_axis ? 1 : 0, 0);
    int best = 0;
    for (uint k = 0; k < count; k++) {
        int v = integer(code_at(result, k));
        switch (FUNCTION) {
        case F_prod_axis: all = product(all, wide(v)); break;
        case F_sum_axis:
        case F_mean_axis: all = sum(all, wide(v)); break;
        default:
            bool better = FUNCTION == F_max_axis || FUNCTION == F_argmax_axis ? below(best, v) : below(v, best);
            if (k == 0 || better || LAST != 0 && v == best) {
                best = v;
                all = FUNCTION >= F_argmax_axis ? uvec2(k, 0) : wide(v);
            }
        }
    }
    return FUNCTION == F_mean_axis && count > 0 ? quotient(all, count) : all;
}

uint of_floats(uint result) {
    precise float all = FUNCTION == F_prod_axis ? 1.0 : 0.0;
    uint best = FUNCTION == F_is_finite ? 1 : 0;
    for (uint k = 0; k < count; k++) {
        float v = number(code_at(result, k));
        switch (FUNCTION) {
        case F_is_finite: best &= uint(!is_nan(v) && !is_inf(v)); break;
        case F_prod_axis: all = k == 0 ? v : product(all, v); break;
        case F_sum_axis:
        case F_mean_axis: all = all + v; break;
        default:
            bool odd = is_nan(v) || is_nan(all);
            bool better = FUNCTION == F_max_axis || FUNCTION == F_argmax_axis ? precedes(all, v) : precedes(v, all);
            if (k == 0 || better || LAST != 0 && !odd && key_of(v) == key_of(all)) {
                all = v;
                best = k;
            }
        }
    }
    if (FUNCTION == F_mean_axis) all = count > 0 ? all / float(count) : NAN;
    return FUNCTION >= F_argmax_axis ? best : code_of(all);
}

void main() {
    const uint each = 32 / min(OUT_BITS, 32u);
    uint at = flat_index() * each, word = 0;
    if (at >= total) return;
    if (OUT_BITS == 64) {
        uvec2 v = KIND < KIND_FLOAT ? of_integers(at) : uvec2(of_floats(at), 0);
        y[2 * at] = v.x;
        y[2 * at + 1] = v.y;
        return;
    }
    for (uint e = 0; e < each && at + e < total; e++) {
        uint v = KIND < KIND_FLOAT ? of_integers(at + e).x : of_floats(at + e);
        word |= (OUT_BITS == 32 ? v : v & (1u << OUT_BITS % 32) - 1u) << e * OUT_BITS % 32;
    }
    y[flat_index()] = word;
}
