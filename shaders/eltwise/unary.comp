// y[y_offset + i] = F(x[x_offset + i]; p, q). Offsets are in elements. p and q are the bits of a C,
// with p_high and q_high for integers of 64 bits.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "types.glsl"
#ifdef IS_FLOAT
#include "unary_float.glsl"
#else
#include "unary.glsl"
#endif

layout(constant_id = 1) const uint FUNCTION = 0;

layout(set = 0, binding = 0) readonly buffer X { T x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push { uint n, x_offset, y_offset, p, q, p_high, q_high; };

#ifdef IS_FLOAT
C apply(C v) { return unary(FUNCTION, v, uintBitsToFloat(p), uintBitsToFloat(q)); }
#else
C parameter(uint low, uint high) {
#if BITS == 64
    return C((uint64_t(high) << 32) | uint64_t(low));
#else
    return C(low);
#endif
}

C clip(C v, C lo, C hi) {
    const C low = v < lo ? lo : v;
    return low > hi ? hi : low;
}

C apply(C v) {
    switch (FUNCTION) {
#ifdef IS_SIGNED
    case F_abs: return v < C(0) ? C(U(0) - U(v)) : v;
    case F_neg: return C(U(0) - U(v));
    case F_relu: return v < C(0) ? C(0) : v;
    case F_sign: return v > C(0) ? C(1) : v < C(0) ? C(-1) : C(0);
#else
    case F_abs: return v;
    case F_sign: return v != C(0) ? C(1) : C(0);
    case F_not: return v == C(0) ? C(1) : C(0);
#endif
    case F_clip: return clip(v, parameter(p, p_high), parameter(q, q_high));
    case F_bitnot: return ~v;
    default: return C(0);
    }
}
#endif

void main() {
    const uint i = flat_index();
    if (i < n) y[y_offset + i] = STORE(apply(LOAD(x[x_offset + i])));
}
