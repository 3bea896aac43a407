// Rotations of pairs of elements of heads of size elements. A row of two tables has the cosines and
// sines of the angles. Elements from 2 * pairs on stay as they are. The elements of a pair are
// neighbours if INTERLEAVED is set, otherwise pairs apart.
//
// POSITIONS selects the row of the tables: 0 the number of the token, 1 the index of the token, 2
// the first index plus the token's row, 3 the index of the batch plus the token's row.
//
// Include it after common.glsl and types.glsl, and the push constants pairs and table, the rows of
// the tables. COS and SIN are their bindings, INDEX and FAULT those of include/index.glsl.
#ifndef ROTARY_GLSL
#define ROTARY_GLSL

#include "index.glsl"

layout(constant_id = 2) const uint INTERLEAVED = 0;
layout(constant_id = 3) const uint POSITIONS = 0;

layout(std430, binding = COS) readonly buffer Cos { T cosines[]; };
layout(std430, binding = SIN) readonly buffer Sin { T sines[]; };

// angle_row returns the row of the tables for row r of batch b, or NOWHERE if there is none.
uint angle_row(uint b, uint r, uint rows) {
    uint at = b * rows + r;
    if (POSITIONS == 0) return at;
    uint k = POSITIONS == 1 ? at : POSITIONS == 3 ? b : 0;
    int first = index[k * INDEX_WORDS];
    uint place = uint(first) + (POSITIONS >= 2 ? r : 0);
    bool wide = INDEX_WORDS == 2 && index[k * INDEX_WORDS + 1] != first >> 31;
    if (!wide && first >= 0 && place < table) return place;
    atomicMax(fault, ~k);
    return NOWHERE;
}

// pair_of returns the first element of element e's pair, the second one, and the pair's number.
uvec3 pair_of(uint e) {
    uint pair = INTERLEAVED != 0 ? e / 2 : e % pairs;
    uint one = INTERLEAVED != 0 ? 2 * pair : pair;
    return uvec3(one, one + (INTERLEAVED != 0 ? 1 : pairs), pair);
}

// turned returns element e of a head, given the elements of its pair, with the angles of a row.
float turned(uint e, uvec3 pair, float p, float q, uint row) {
    float c = LOAD(cosines[row * pairs + pair.z]), s = LOAD(sines[row * pairs + pair.z]);
    return e == pair.y ? s * p + c * q : c * p - s * q;
}

// ROTATED returns element e of the head at from[head], rotated by the angles of a row.
#define ROTATED(from, head, e, row) \
    turned(e, pair_of(e), LOAD((from)[(head) + pair_of(e).x]), LOAD((from)[(head) + pair_of(e).y]), row)

#endif
