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

// The position of element `index` of a row-major block.
static inline void conv_place(size_t *at, const size_t *extent, size_t axes, size_t index) {
    for (size_t d = axes; d-- > 0;) {
        at[d] = index % extent[d];
        index /= extent[d];
    }
}

// The next position; after the last the first.
static inline void conv_next(size_t *at, const size_t *extent, size_t axes) {
    for (size_t d = axes; d-- > 0;) {
        if (++at[d] < extent[d]) return;
        at[d] = 0;
    }
}

// Where tap `tap` at position `at` of the stepping side falls on the other side,
// whose extents are given: an offset, or -1 for beyond an edge.
static inline ptrdiff_t conv_meet(const nacre_conv *c, const size_t *extent, const size_t *at, const size_t *tap) {
    ptrdiff_t offset = 0;
    for (size_t d = 0; d < c->axes; d++) {
        const size_t i = at[d] * c->stride[d] + tap[d] * c->dilation[d];
        if (i < c->pad[d] || i - c->pad[d] >= extent[d]) return -1;
        offset = offset * (ptrdiff_t)extent[d] + (ptrdiff_t)(i - c->pad[d]);
    }
    return offset;
}

// Positions of the stepping side that follow each other on the last axis.
typedef struct {
    size_t lane, lanes;        // of a stretch of positions: the first and how many
    size_t at[NACRE_CONV_AXES];  // position of the first
} conv_span;

// Cuts positions j0..j0+n-1 of a block into spans; there are n at most.
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

// The part of a span that falls inside the other side at one tap: its lanes and
// the offset of its first on the other side; further ones are a stride apart.
typedef struct {
    size_t lane, lanes, offset;
} conv_run;

static inline int conv_clip(const nacre_conv *c, const size_t *extent, const conv_span *s, const size_t *tap, conv_run *run) {
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

// Part p of the rows of a band: how many columns are padding before the value, how
// many are the value's.
static inline size_t conv_part_pad(const nacre_f32_band *b, size_t p) {
    return p < b->pad ? nacre_ceil_div(b->pad - p, b->parts) : 0;
}

static inline size_t conv_part_size(const nacre_f32_band *b, size_t p) {
    const size_t end = b->in + b->pad;
    return p < end ? nacre_ceil_div(end - p, b->parts) - conv_part_pad(b, p) : 0;
}

#endif
