// Arithmetic of sizes.
#ifndef NACRE_CORE_NUMBERS_H
#define NACRE_CORE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t nacre_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t nacre_max(size_t a, size_t b) { return a > b ? a : b; }
static inline int64_t nacre_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

// nacre_clamp returns x moved into low..high, for low <= high.
static inline int64_t nacre_clamp(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

// nacre_ceil_div returns n / d, rounded up.
static inline size_t nacre_ceil_div(size_t n, size_t d) { return n / d + (n % d != 0); }

// nacre_strides returns n / stride, rounded up. It does not divide for strides of 1 and 2.
static inline size_t nacre_strides(size_t n, size_t stride) {
    return stride == 1 ? n : stride == 2 ? n / 2 + n % 2 : nacre_ceil_div(n, stride);
}

// nacre_round_up returns the least multiple of step that is at least n.
static inline size_t nacre_round_up(size_t n, size_t step) { return nacre_ceil_div(n, step) * step; }

// nacre_align_bytes and nacre_align_floats round a length, in bytes or in floats, up to full cache
// lines.
static inline size_t nacre_align_bytes(size_t n) { return nacre_round_up(n, 64); }
static inline size_t nacre_align_floats(size_t n) { return nacre_round_up(n, 16); }

// nacre_chunk_end returns the end of a chunk of n elements that begins at first <= n: first + size,
// at most n.
static inline size_t nacre_chunk_end(size_t first, size_t size, size_t n) { return first + nacre_min(size, n - first); }

#endif
