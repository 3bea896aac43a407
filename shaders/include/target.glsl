// target returns the element that indices name. With TUPLES, a tuple of indices names a block.
// Otherwise an index along one axis names a single element.
#ifndef TARGET_GLSL
#define TARGET_GLSL

layout(constant_id = 2) const uint TUPLES = 0;

// With TUPLES, group is the number of tuples in a batch, count the number of indices in a tuple,
// step the number of elements in a block, and extent the extents of the indexed axes. Otherwise,
// group is the extent of the indexed axis, count the number of axes, step the stride of the indexed
// axis, extent the extents of the indices, and skip the strides of the elements along the same
// axes, 0 for the indexed one. With LANES, elements are [outer,n,inner].
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
