// Which taps of a window lie in the input; what drivers of this family share.
#ifndef NACRE_POOL_TAPS_H
#define NACRE_POOL_TAPS_H

#include "pool/pool.h"

// The taps of output o that lie in the input: from *first on, *count of them.
static inline void pool_taps(const nacre_pooling_axis *a, size_t o, size_t *first, size_t *count) {
    const size_t at = o * a->stride; // counted from the padding before the input
    const size_t begin = at >= a->pad ? 0 : nacre_strides(a->pad - at, a->dilation);
    const size_t end = at >= a->pad + a->in ? 0 : nacre_min(a->taps, nacre_strides(a->pad + a->in - at, a->dilation));
    *first = begin;
    *count = end > begin ? end - begin : 0;
}

// What an average along the axis is divided by; 1 where nothing counts.
static inline float pool_divisor(const nacre_pooling_axis *a, size_t o, bool count_pad) {
    size_t first, count;
    pool_taps(a, o, &first, &count);
    if (count_pad) count = nacre_min(a->taps, nacre_strides(a->pad + a->in + a->pad_end - o * a->stride, a->dilation));
    return count == 0 ? 1.0f : (float)count;
}

// Windows of an axis are looked at in pieces of about so many taps, between which a run may end.
enum { POOL_PIECE = 1 << 20 };

// The outputs of a piece of an axis, a multiple of every vector.
static inline size_t pool_piece(size_t taps) { return nacre_max(POOL_PIECE / taps, 64) / 64 * 64; }

// Threads get at least this many elements to read at a time.
enum { POOL_GRAIN = 1 << 14 };

#endif
