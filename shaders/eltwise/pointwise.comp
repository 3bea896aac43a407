// pointwise computes OpenInfer's functions of elements of 1 to 32 bits, decoded in registers. An
// invocation computes a word of results, each of OUT_BITS. Integers are computed in 32 bits and
// keep their low bits. Narrow floats are computed as float32 and rounded once.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "elements.glsl"
#include "pointwise.glsl"
#include "tiny.glsl"

layout(constant_id = 1) const uint FUNCTION = 0;
layout(constant_id = 6) const uint OPERANDS = 1;
layout(constant_id = 7) const uint LIMITED = 0; // relu has a greatest result

layout(std430, binding = 0) readonly buffer First { uint first[]; };
layout(std430, binding = 1) readonly buffer Second { uint second[]; };
layout(std430, binding = 2) readonly buffer Third { uint third[]; };
layout(std430, binding = 3) writeonly buffer Y { uint y[]; };

layout(push_constant) uniform Words {
    uint total; // results
    uint dims[6], steps[3 * 6];
    uint a, b; // parameters of the function
};

// place returns the index in an operand of element i of the result.
uint place(uint i, uint operand) {
    uint at = 0;
    for (int d = 5; d >= 0; d--) {
        at += i % dims[d] * steps[operand * 6 + d];
        i /= dims[d];
    }
    return at;
}

uint size_of(int v) { return uint(KIND == KIND_SIGNED && v < 0 ? -v : v); }

// divided returns quotient and remainder, rounded towards zero.
ivec2 divided(int u, int v) {
    int q = int(size_of(u) / size_of(v)), r = int(size_of(u) % size_of(v));
    if (KIND == KIND_SIGNED && (u ^ v) < 0) q = -q;
    return ivec2(q, KIND == KIND_SIGNED && u < 0 ? -r : r);
}

int floor_divided(int u, int v) {
    ivec2 d = divided(u, v);
    return KIND != KIND_SIGNED || d.y >= 0 ? d.x : v > 0 ? d.x - 1 : d.x + 1;
}

int limited(int u) {
    if (u < 0) {
        uint spare = 32 - max(BITS, 8);
        u = u * int(a) << spare >> spare;
    }
    return LIMITED != 0 && u > int(b) ? int(b) : u;
}

int shifted(int u, uint n) {
    if (FUNCTION == F_shl) return n < 32 ? u << n : 0;
    return KIND == KIND_SIGNED ? u >> min(n, 31u) : n < 32 ? int(uint(u) >> n) : 0;
}

int of_integers(uint code, int u, int v, int w) {
    switch (FUNCTION) {
    case F_add: return u + v;
    case F_sub: return u - v;
    case F_mul: return u * v;
    case F_div: return v == 0 ? int(a) : divided(u, v).x;
    case F_floor_div: return v == 0 ? int(a) : floor_divided(u, v);
    case F_rem: return v == 0 ? 0 : divided(u, v).y;
    case F_abs: return int(size_of(u));
    case F_neg: return -u;
    case F_sign: return int(u > 0) - int(u < 0);
    case F_relu: return limited(u);
    case F_clamp: u = below(u, int(a)) ? int(a) : u; return below(int(b), u) ? int(b) : u;
    case F_min: return below(v, u) ? v : u;
    case F_max: return below(u, v) ? v : u;
    case F_and: return u & v;
    case F_or: return u | v;
    case F_xor: return u ^ v;
    case F_not: return KIND == KIND_BOOL ? 1 - u : ~u;
    case F_shl:
    case F_shr: return shifted(u, a);
    case F_popcount: return bitCount(code);
    case F_eq: return int(u == v);
    case F_ne: return int(u != v);
    case F_lt: return int(below(u, v));
    case F_le: return int(!below(v, u));
    case F_gt: return int(below(v, u));
    case F_ge: return int(!below(u, v));
    case F_filter: return w != 0 ? u : v;
    case F_is_neg: return int(KIND == KIND_SIGNED && u < 0);
    default: return int(a);
    }
}

float rounded(float u) {
    float whole = trunc(u);
    return magnitude(u - whole) >= 0.5 ? whole + copy_sign(1.0, u) : whole;
}

float of_floats(float u, float v, float w) {
    float low = uintBitsToFloat(a), high = uintBitsToFloat(b);
    precise float z = low;
    switch (FUNCTION) {
    case F_add: z = u + v; break;
    case F_sub: z = u - v; break;
    case F_mul: z = product(u, v); break;
    case F_div: if (!is_zero(v)) z = quotient(u, v); break;
    case F_abs: z = magnitude(u); break;
    case F_neg: z = negated(u); break;
    case F_recip: if (!is_zero(u)) z = quotient(1.0, u); break;
    case F_relu:
        z = precedes(u, 0.0) ? u * low : u;
        if (LIMITED != 0 && precedes(high, z)) z = high;
        break;
    case F_clamp:
        z = precedes(u, low) ? low : u;
        if (precedes(high, z)) z = high;
        break;
    case F_floor: z = copy_sign(whole_below(u), u); break;
    case F_ceil: z = copy_sign(whole_above(u), u); break;
    case F_round: z = copy_sign(rounded(u), u); break;
    case F_trunc: z = copy_sign(trunc(u), u); break;
    case F_min: z = is_nan(u) || precedes(v, u) ? v : u; break;
    case F_max: z = is_nan(u) || precedes(u, v) ? v : u; break;
    case F_filter: z = is_zero(w) ? v : u; break;
    }
    return z;
}

int compared(float u, float v) {
    bool odd = is_nan(u) || is_nan(v);
    switch (FUNCTION) {
    case F_sign: return int(precedes(0.0, u)) - int(precedes(u, 0.0));
    case F_eq: return int(!odd && key_of(u) == key_of(v));
    case F_ne: return int(odd || key_of(u) != key_of(v));
    case F_lt: return int(precedes(u, v));
    case F_le: return int(!odd && key_of(u) <= key_of(v));
    case F_gt: return int(precedes(v, u));
    case F_ge: return int(!odd && key_of(u) >= key_of(v));
    default: return int(is_negative(u));
    }
}

// converted returns the code of the nearest float, or of the nearest integer after rounding as a
// says: 0 towards zero, 1 down, 2 up, else to nearest.
uint converted(uint code) {
    if (OUT_KIND >= KIND_FLOAT) return KIND >= KIND_FLOAT ? code_of(number(code)) : code_of_integer(integer(code));
    if (KIND < KIND_FLOAT) return uint(integer(code));
    float u = number(code);
    if (is_nan(u)) return 0;
    switch (a) {
    case 0: u = trunc(u); break;
    case 1: u = whole_below(u); break;
    case 2: u = whole_above(u); break;
    default: u = rounded(u);
    }
    float most = uintBitsToFloat(127 + OUT_BITS - uint(OUT_KIND == KIND_SIGNED) << 23); // one more than the greatest
    if (u >= most) return OUT_KIND == KIND_SIGNED ? (1u << OUT_BITS - 1) - 1 : 0xffffffffu >> 32 - OUT_BITS;
    if (OUT_KIND == KIND_SIGNED) return u <= -most ? 1u << OUT_BITS - 1 : uint(int(u));
    return u <= 0.0 ? 0 : uint(u);
}

uint result(uint i) {
    uint u = CODE_OF(first, place(i, 0)), v = OPERANDS > 1 ? CODE_OF(second, place(i, 1)) : 0, w = OPERANDS > 2 ? CODE_OF(third, place(i, 2)) : 0;
    if (FUNCTION == F_cast) return converted(u);
    if (KIND < KIND_FLOAT) return uint(of_integers(u, integer(u), integer(v), integer(w)));
    if (OUT_KIND < KIND_FLOAT) return uint(compared(number(u), number(v)));
    return code_of(of_floats(number(u), number(v), number(w)));
}

void main() {
    const uint each = 32 / OUT_BITS;
    uint at = flat_index() * each, word = 0;
    if (at >= total) return;
    for (uint e = 0; e < each && at + e < total; e++) {
        uint v = result(at + e);
        word |= (OUT_BITS == 32 ? v : v & (1u << OUT_BITS % 32) - 1u) << e * OUT_BITS % 32;
    }
    y[flat_index()] = word;
}
