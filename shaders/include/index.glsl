// Indices of 32 or 64 bits, read as words from the operand at binding INDEX. Places beyond
// an axis are noted in the operand at binding FAULT: the complement of the number of the
// first of such indices.
#ifndef INDEX_GLSL
#define INDEX_GLSL

layout(constant_id = 1) const uint INDEX_WORDS = 2;

layout(std430, binding = INDEX) readonly buffer Index { int index[]; };
layout(std430, binding = FAULT) buffer Fault { uint fault; };

const uint NOWHERE = 0xffffffffu;

// place_of returns the place among n elements that index k names, negative ones counted from
// the end; NOWHERE if there is none.
uint place_of(uint k, uint n) {
    int place = index[k * INDEX_WORDS];
    bool wide = INDEX_WORDS == 2 && index[k * INDEX_WORDS + 1] != place >> 31;
    if (place < 0) place += int(n);
    if (!wide && uint(place) < n) return uint(place);
    atomicMax(fault, ~k);
    return NOWHERE;
}

#endif
