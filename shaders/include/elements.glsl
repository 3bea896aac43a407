// Elements of 1 to 32 bits, decoded in registers. KIND is the kind of operands and OUT_KIND the
// kind of results. Narrow floats are computed as float32 and rounded once.
#ifndef ELEMENTS_GLSL
#define ELEMENTS_GLSL

#include "narrow.glsl"

#define KIND_UNSIGNED 0
#define KIND_SIGNED 1
#define KIND_BOOL 2
#define KIND_FLOAT 3 // floats have this kind or a greater one
#define KIND_BFLOAT 4

layout(constant_id = 2) const uint BITS = 4;
layout(constant_id = 3) const uint KIND = 0;
layout(constant_id = 4) const uint OUT_BITS = 4;
layout(constant_id = 5) const uint OUT_KIND = 0;

#define CODE_OF(x, i) (BITS == 32 ? x[i] : x[(i) / (32 / BITS)] >> (i) % (32 / BITS) * BITS & (1u << BITS % 32) - 1u)

int integer(uint code) {
    if (KIND == KIND_SIGNED) return int(code << 32 - BITS) >> 32 - BITS;
    return KIND == KIND_BOOL ? int(min(code, 1u)) : int(code);
}

float number(uint code) {
    if (KIND == KIND_BFLOAT) return float_of_bf16(code);
    return BITS == 32 ? uintBitsToFloat(code) : of_narrow(code, BITS - 6);
}

uint code_of(float v) {
    if (OUT_KIND == KIND_BFLOAT) return bf16_bits(v);
    return OUT_BITS == 32 ? floatBitsToUint(v) : narrow_bits(v, OUT_BITS - 6);
}

bool below(int u, int v) { return KIND == KIND_SIGNED ? u < v : uint(u) < uint(v); }

// code_of_integer returns the code of the float nearest to v. If OUT_BITS is below 32, dropped
// digits set the last bit of digits, so that code_of rounds as if from v itself.
uint code_of_integer(int v) {
    bool negative = KIND == KIND_SIGNED && v < 0;
    uint size = negative ? uint(-v) : uint(v);
    int drop = max(findMSB(size) - 23, 0);
    uint digits = size >> drop, rest = size - (digits << drop);
    if (OUT_BITS < 32) {
        digits |= uint(rest != 0);
    } else if (drop > 0) {
        uint tie = 1u << drop - 1;
        digits += uint(rest > tie || rest == tie && (digits & 1u) != 0);
    }
    float f = float(digits) * uintBitsToFloat(uint(127 + drop) << 23);
    return code_of(negative ? -f : f);
}

#endif
