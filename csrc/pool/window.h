// The taps of a window in the input, for the drivers of this family.
#ifndef NACRE_POOL_WINDOW_H
#define NACRE_POOL_WINDOW_H

#include "pool/pool.h"

// Sets *first to the first tap of output o in the input, and *count to the number of such taps.
static inline void pool_taps(const nacre_pooling_axis *a, size_t o, size_t *first, size_t *count) {
    const size_t at = o * a->stride; // relative to the padding before the input
    const size_t begin = at >= a->pad ? 0 : nacre_strides(a->pad - at, a->dilation);
    const size_t end = at >= a->pad + a->in ? 0 : nacre_min(a->taps, nacre_strides(a->pad + a->in - at, a->dilation));
    *first = begin;
    *count = end > begin ? end - begin : 0;
}

// Returns the divisor of an average along the axis; 1 if nothing counts.
static inline float pool_divisor(const nacre_pooling_axis *a, size_t o, bool count_pad) {
    size_t first, count;
    pool_taps(a, o, &first, &count);
    if (count_pad) count = nacre_min(a->taps, nacre_strides(a->pad + a->in + a->pad_end - o * a->stride, a->dilation));
    return count == 0 ? 1.0f : (float)count;
}

// Windows of an axis are computed in pieces of about this many taps, between which a run may stop.
enum { POOL_PIECE = 1 << 20 };

// Returns the outputs of a piece of an axis, a multiple of every vector.
static inline size_t pool_piece(size_t taps) { return nacre_max(POOL_PIECE / taps, 64) / 64 * 64; }

// Threads get at least this many elements to read at a time.
enum { POOL_GRAIN = 1 << 14 };

#endif
