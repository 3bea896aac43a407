// y[y_offset + i] = F(a, b) for the elements of a and b at the place of i. extent has the extents
// of y, the last one innermost. Strides and offsets are in elements; a stride of 0 repeats. Missing
// axes come first, with extent 1.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "types.glsl"
#include "binary.glsl"
#ifdef IS_FLOAT
#include "quotient.glsl"
#include "power.glsl"
#endif

layout(constant_id = 1) const uint FUNCTION = 0;

layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) readonly buffer B { T b[]; };
layout(set = 0, binding = 2) writeonly buffer Y { T y[]; };
layout(push_constant) uniform Push {
    uint n, a_offset, b_offset, y_offset;
    uint extent[6], a_stride[6], b_stride[6];
};

#ifdef IS_FLOAT
C apply(C u, C v) {
    switch (FUNCTION) {
    case F_add: return u + v;
    case F_sub: return u - v;
    case F_mul: return u * v;
    case F_div: return rounded_quotient(u, v);
    case F_min: return min_nan(u, v);
    case F_max: return max_nan(u, v);
    case F_prelu: return u < 0.0 ? u * v : u;
    case F_pow: return m_pow(u, v);
    case F_fmod: return m_fmod(u, v);
    default: return NAN;
    }
}
#else
#include "integer.glsl"

C apply(C u, C v) {
    switch (FUNCTION) {
    case F_add: return C(U(u) + U(v));
    case F_sub: return C(U(u) - U(v));
    case F_mul: return C(U(u) * U(v));
    case F_div: return quotient(u, v);
    case F_min: return u < v ? u : v;
    case F_max: return u > v ? u : v;
    case F_prelu: return u < C(0) ? C(U(u) * U(v)) : u;
    case F_pow: return power(u, v);
    case F_fmod: return remainder(u, v);
    case F_mod: return floor_remainder(u, v);
    case F_bitand: return u & v;
    case F_bitor: return u | v;
    case F_bitxor: return u ^ v;
#ifndef IS_SIGNED
    case F_shl: return v < C(BITS) ? u << v : C(0);
    case F_shr: return v < C(BITS) ? u >> v : C(0);
    case F_and: return u != C(0) && v != C(0) ? C(1) : C(0);
    case F_or: return u != C(0) || v != C(0) ? C(1) : C(0);
    case F_xor: return (u != C(0)) != (v != C(0)) ? C(1) : C(0);
#endif
    default: return C(0);
    }
}
#endif

void main() {
    const uint i = flat_index();
    if (i >= n) return;
    uint at_a = a_offset, at_b = b_offset, rest = i;
    for (int axis = 5; axis >= 0 && rest != 0u; axis--) {
        const uint place = rest % extent[axis];
        rest /= extent[axis];
        at_a += place * a_stride[axis];
        at_b += place * b_stride[axis];
    }
    y[y_offset + i] = STORE(apply(LOAD(a[at_a]), LOAD(b[at_b])));
}
