// Where the elements lie that indices name: with TUPLES, blocks by tuples of indices,
// else single elements by an index along one axis.
#ifndef TARGET_GLSL
#define TARGET_GLSL

layout(constant_id = 2) const uint TUPLES = 0;

// Of tuples: group is the tuples of each batch, count the indices of a tuple, step the
// elements of a block, and extent those of the axes indexed. Else group is the extent of
// the axis indexed, count the axes, step that along the axis, extent those of the indices,
// and skip the steps along them, 0 along the axis. With LANES, the elements are seen as
// [outer,n,inner].
layout(push_constant) uniform Words {
    uint total, group, count, step;
    uint extent[8], skip[8];
#ifdef LANES
    uint n, inner;
#endif
};

uint target(uint at) {
    uint to = 0;
    if (TUPLES != 0) {
        uint tuple = at / step;
        to = tuple / group;
        for (uint a = 0; a < count; a++) {
            uint place = place_of(tuple * count + a, extent[a]);
            if (place == NOWHERE) return NOWHERE;
            to = to * extent[a] + place;
        }
        return to * step + at % step;
    }
    uint place = place_of(at, group), rest = at;
    for (int a = int(count) - 1; a >= 0; a--) {
        to += rest % extent[a] * skip[a];
        rest /= extent[a];
    }
    return place == NOWHERE ? NOWHERE : to + place * step;
}

#endif
