// A key is an unsigned number. Keys have the order of elements: NaN is above all numbers, and -0
// equals 0. KIND is the kind of number that an element is.
#ifndef ORDER_GLSL
#define ORDER_GLSL

#include "width.glsl"

#define UNSIGNED 0
#define SIGNED 1
#define FLOAT 2
#define HALF 3

layout(constant_id = 1) const uint KIND = 0;

#if WIDTH == 8
#define KEY uvec2
#define LEAST_KEY uvec2(0)
#define NAN_KEY uvec2(0xffffffffu)

KEY key_of(E v) {
    uint magnitude = v.y & 0x7fffffffu;
    if (KIND == FLOAT && (magnitude > 0x7ff00000u || magnitude == 0x7ff00000u && v.x != 0)) return NAN_KEY;
    if (KIND == FLOAT && (magnitude | v.x) == 0) return uvec2(0, 0x80000000u);
    if (KIND == FLOAT && v.y >> 31 != 0) return ~v;
    return KIND == UNSIGNED ? v : uvec2(v.x, v.y ^ 0x80000000u);
}

bool above(KEY a, KEY b) { return a.y > b.y || a.y == b.y && a.x > b.x; }
#else
#define KEY uint
#define LEAST_KEY 0u
#define NAN_KEY 0xffffffffu

// key_of moves an element of fewer than 32 bits to the top of a word.
#define key_of(v) key_of_bits(uint(v) << 32 - 8 * WIDTH)

KEY key_of_bits(uint bits) {
    uint magnitude = bits & 0x7fffffffu;
    if (KIND >= FLOAT && magnitude > (KIND == HALF ? 0x7c000000u : 0x7f800000u)) return NAN_KEY;
    if (KIND >= FLOAT && magnitude == 0) return 0x80000000u;
    if (KIND >= FLOAT && bits >> 31 != 0) return ~bits;
    return KIND == UNSIGNED ? bits : bits ^ 0x80000000u;
}

bool above(KEY a, KEY b) { return a > b; }
#endif

#endif
