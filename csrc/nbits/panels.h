// Packed matrices of codes, in the order in which kernels read them.
//
// A panel has the codes of `lanes` rows of W, which are columns of the result. It is cut along k
// into slabs. A slab has `depth` codes of each lane, then the scale of each lane, then, if W has
// zero points, the zero point of each lane. The codes of a slab share a block. The last slab has
// the codes that are left, rounded up to 16. Slabs follow each other, and so do panels, each at a
// multiple of 64 bytes. Lanes and codes beyond W are 0.
//
// A word of 32 bits has neighbouring codes of a lane: byte b has codes b, b + 4, b + 8 and so on of
// the word, the first in the lowest bits. So each step along k of four codes is one group of bits of
// all bytes. The words of the lanes follow each other, then the next words. Scales and zero points
// that are floats have their type in W, zero points that are codes are bytes.
#ifndef NACRE_NBITS_PANELS_H
#define NACRE_NBITS_PANELS_H

#include "nbits/nbits.h"

enum {
    NACRE_NBITS_DEPTH = 1024,  // most codes of a lane in a slab: sums of products stay below 2^31
    NACRE_NBITS_UNIT = 16      // the codes of a lane in a slab are a multiple
};

struct nacre_nbits_panels {
    size_t lanes;
    size_t depth, last;  // codes of a lane in a slab, and in the last slab
    size_t count;        // slabs of a panel
    size_t bytes;        // of a panel
};

static inline size_t nacre_nbits_scale_bytes(const nacre_nbits *w, size_t lanes) { return lanes * nacre_float_size(w->type); }

static inline size_t nacre_nbits_zero_bytes(const nacre_nbits *w, size_t lanes) {
    return w->from == NACRE_NBITS_MIDDLE ? 0 : w->from == NACRE_NBITS_CODES ? lanes : nacre_nbits_scale_bytes(w, lanes);
}

static inline size_t nacre_nbits_code_bytes(const nacre_nbits *w, size_t lanes, size_t depth) { return lanes * (depth * w->bits / 8); }

static inline size_t nacre_nbits_slab_bytes(const nacre_nbits *w, size_t lanes, size_t depth) {
    return nacre_nbits_code_bytes(w, lanes, depth) + nacre_nbits_scale_bytes(w, lanes) + nacre_nbits_zero_bytes(w, lanes);
}

// Returns the order of W in panels of that many lanes.
static inline nacre_nbits_panels nacre_nbits_panels_of(const nacre_nbits *w, size_t lanes) {
    nacre_nbits_panels p = {.lanes = lanes, .depth = nacre_min(w->block, NACRE_NBITS_DEPTH)};
    p.count = nacre_ceil_div(w->k, p.depth);
    p.last = nacre_round_up(w->k - (p.count - 1) * p.depth, NACRE_NBITS_UNIT);
    p.bytes = nacre_align_bytes((p.count - 1) * nacre_nbits_slab_bytes(w, lanes, p.depth) + nacre_nbits_slab_bytes(w, lanes, p.last));
    return p;
}

// Returns the codes of a lane in slab s.
static inline size_t nacre_nbits_slab_depth(const nacre_nbits_panels *p, size_t s) { return s + 1 < p->count ? p->depth : p->last; }

// Returns the codes of a lane in a panel.
static inline size_t nacre_nbits_deep(const nacre_nbits_panels *p) { return (p->count - 1) * p->depth + p->last; }

// Returns code i of a lane from the codes of a slab.
static inline unsigned nacre_nbits_slab_code(const uint8_t *codes, size_t lanes, size_t bits, size_t lane, size_t i) {
    const size_t per = 32 / bits, at = i % per;
    return codes[(i / per * lanes + lane) * 4 + at % 4] >> at / 4 * bits & ((1u << bits) - 1);
}

// Returns the rows of a that are multiplied together, if `left` are left and a kernel takes `most`:
// that many, 4 or 1.
static inline size_t nacre_nbits_group(size_t left, size_t most) {
    return left >= most ? most : left >= 4 && most >= 4 ? 4 : 1;
}

// Fetches memory that kernels read soon after address p, so that they do not wait at the end of a
// page, where processors stop to do so by themselves.
#define NACRE_NBITS_AHEAD(p) __builtin_prefetch((const char *)(p) + 2048)

// Returns the bytes of a rounded row: its numbers, and for each slab a sum and a scale.
static inline size_t nacre_nbits_rounded_bytes(const nacre_nbits_panels *p) { return nacre_nbits_deep(p) + 8 * p->count; }

// Writes the codes, scales or zero points of w->n rows of W to their places in panels.
void nacre_nbits_pack_codes(const nacre_nbits *w, size_t lanes, const uint8_t *src, uint8_t *dst);
void nacre_nbits_pack_scales(const nacre_nbits *w, size_t lanes, const void *src, uint8_t *dst);
void nacre_nbits_pack_zeros(const nacre_nbits *w, size_t lanes, const void *src, uint8_t *dst);

#endif
