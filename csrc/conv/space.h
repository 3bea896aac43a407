// Walks over spatial axes.
#ifndef NACRE_CONV_SPACE_H
#define NACRE_CONV_SPACE_H

#include <stddef.h>

#include "conv/conv.h"

static inline size_t conv_count(const size_t *extent, size_t axes) {
    size_t n = 1;
    for (size_t d = 0; d < axes; d++) n *= extent[d];
    return n;
}

// Sets at to the position of element `index` of a row-major block.
static inline void conv_place(size_t *at, const size_t *extent, size_t axes, size_t index) {
    for (size_t d = axes; d-- > 0;) {
        at[d] = index % extent[d];
        index /= extent[d];
    }
}

// Advances to the next position; after the last comes the first.
static inline void conv_next(size_t *at, const size_t *extent, size_t axes) {
    for (size_t d = axes; d-- > 0;) {
        if (++at[d] < extent[d]) return;
        at[d] = 0;
    }
}

// Returns the offset on the other side, of the given extents, of tap `tap` at position `at` of the
// stepping side, or -1 if it is beyond an edge.
static inline ptrdiff_t conv_meet(const nacre_conv *c, const size_t *extent, const size_t *at, const size_t *tap) {
    ptrdiff_t offset = 0;
    for (size_t d = 0; d < c->axes; d++) {
        const size_t i = at[d] * c->stride[d] + tap[d] * c->dilation[d];
        if (i < c->pad[d] || i - c->pad[d] >= extent[d]) return -1;
        offset = offset * (ptrdiff_t)extent[d] + (ptrdiff_t)(i - c->pad[d]);
    }
    return offset;
}

// Consecutive positions of the stepping side on the last axis.
typedef struct {
    size_t lane, lanes;        // the first position, counted from j0, and their number
    size_t at[NACRE_CONV_AXES];  // position of the first
} conv_span;

// Cuts positions j0..j0+n-1 of a block into spans, at most n, and returns their number.
static inline size_t conv_spans(const nacre_conv *c, const size_t *extent, size_t j0, size_t n, conv_span *spans) {
    const size_t last = c->axes - 1;
    size_t at[NACRE_CONV_AXES], count = 0;
    conv_place(at, extent, c->axes, j0);
    for (size_t lane = 0; lane < n;) {
        conv_span *const s = &spans[count++];
        s->lane = lane;
        s->lanes = nacre_min(n - lane, extent[last] - at[last]);
        for (size_t d = 0; d < c->axes; d++) s->at[d] = at[d];
        lane += s->lanes;
        at[last] = 0;
        conv_next(at, extent, last);
    }
    return count;
}

// The part of a span that falls inside the other side at one tap: its lanes, and the offset of the
// first on the other side. Further lanes are a stride apart.
typedef struct {
    size_t lane, lanes, offset;
} conv_run;

static inline int conv_clip(const nacre_conv *c, const size_t *extent, const conv_span *s, const size_t *tap,
                            conv_run *run) {
    const size_t last = c->axes - 1;
    size_t offset = 0;
    for (size_t d = 0; d < last; d++) {
        const size_t i = s->at[d] * c->stride[d] + tap[d] * c->dilation[d];
        if (i < c->pad[d] || i - c->pad[d] >= extent[d]) return 0;
        offset = offset * extent[d] + (i - c->pad[d]);
    }
    const size_t step = c->stride[last], pad = c->pad[last];
    const size_t first = s->at[last] * step + tap[last] * c->dilation[last];
    if (first >= extent[last] + pad) return 0;
    size_t skip = 0;
    if (first < pad) skip = nacre_strides(pad - first, step);
    const size_t room = extent[last] + pad - first;  // from the first lane to the end
    const size_t end = nacre_min(s->lanes, nacre_strides(room, step));
    if (skip >= end) return 0;
    run->lane = s->lane + skip;
    run->lanes = end - skip;
    run->offset = offset * extent[last] + (first + skip * step - pad);
    return 1;
}

// conv_part_pad returns the columns of part p of a band's row that are padding before the value,
// conv_part_size the columns of the value.
static inline size_t conv_part_pad(const nacre_f32_band *b, size_t p) {
    return p < b->pad ? nacre_ceil_div(b->pad - p, b->parts) : 0;
}

static inline size_t conv_part_size(const nacre_f32_band *b, size_t p) {
    const size_t end = b->in + b->pad;
    return p < end ? nacre_ceil_div(end - p, b->parts) - conv_part_pad(b, p) : 0;
}

#endif
