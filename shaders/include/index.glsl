// Indices of 32 or 64 bits, read as words from the operand at binding INDEX. If an index is outside
// its axis, the operand at binding FAULT is set to the complement of the index's number. The first
// such index wins.
#ifndef INDEX_GLSL
#define INDEX_GLSL

layout(constant_id = 1) const uint INDEX_WORDS = 2;

layout(std430, binding = INDEX) readonly buffer Index { int index[]; };
layout(std430, binding = FAULT) buffer Fault { uint fault; };

const uint NOWHERE = 0xffffffffu;

// place_of returns the position among n elements that index k names, or NOWHERE if there is none. A
// negative index counts from the end.
uint place_of(uint k, uint n) {
    int place = index[k * INDEX_WORDS];
    bool wide = INDEX_WORDS == 2 && index[k * INDEX_WORDS + 1] != place >> 31;
    if (place < 0) place += int(n);
    if (!wide && uint(place) < n) return uint(place);
    atomicMax(fault, ~k);
    return NOWHERE;
}

#endif
