// Blocks of rows of a, and estimates of cache conflicts from addresses of a and b, for the drivers
// of f32_gemm and f64_gemm.
#ifndef NACRE_MATMUL_BLOCKS_H
#define NACRE_MATMUL_BLOCKS_H

#include <stddef.h>

#include "core/numbers.h"

enum {
    GEMM_STRIP = 4,         // panels of b by which each panel of a block of rows is multiplied in turn
    GEMM_PACK_PANELS = 48,  // panels of b from which packing a block of rows pays
    GEMM_PACK_SAME = 32,    // the same if rows evict each other
    GEMM_SAME_SETS = 4096   // bytes between addresses that share a set of the first-level cache
};

// Reports whether rows evict each other, given the bytes between them.
static inline int gemm_same_sets(size_t bytes) { return bytes % GEMM_SAME_SETS == 0; }

// Reports whether a block of rows, `bytes` apart, is packed for `panels` panels of b.
static inline int gemm_packs_rows(size_t bytes, size_t panels) {
    return panels >= (gemm_same_sets(bytes) ? GEMM_PACK_SAME : GEMM_PACK_PANELS);
}

// Returns the bytes between the cache sets of rows `bytes` apart: the largest power of two that
// divides their distance.
static inline size_t gemm_spread(size_t bytes) { return nacre_max(1, bytes & (0 - bytes)); }

#endif
