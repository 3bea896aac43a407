// Blocks of rows of a, and what addresses of a and b tell of caches, for the drivers of
// f32_gemm and f64_gemm.
#ifndef NACRE_MATMUL_BLOCKS_H
#define NACRE_MATMUL_BLOCKS_H

#include <stddef.h>

#include "core/numbers.h"

enum {
    GEMM_STRIP = 4,         // panels of b that each panel of a block of rows is multiplied by in turn
    GEMM_PACK_PANELS = 48,  // panels of b from which on packing a block of rows pays
    GEMM_PACK_SAME = 32,    // the same where rows evict each other
    GEMM_SAME_SETS = 4096   // bytes between addresses that share a set of the first-level cache
};

// Whether rows so many bytes apart evict each other.
static inline int gemm_same_sets(size_t bytes) { return bytes % GEMM_SAME_SETS == 0; }

// Whether a block of rows so many bytes apart is packed for that many panels of b.
static inline int gemm_packs_rows(size_t bytes, size_t panels) { return panels >= (gemm_same_sets(bytes) ? GEMM_PACK_SAME : GEMM_PACK_PANELS); }

// Bytes between the sets that rows so many bytes apart lie in: the largest power of two that
// divides their distance.
static inline size_t gemm_spread(size_t bytes) { return nacre_max(1, bytes & (0 - bytes)); }

#endif
