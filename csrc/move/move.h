// Moving elements: copies between strided views, transposes, gathers.
//
// An element is an opaque block of `width` bytes: 1, 2, 4, 8 or 16. Memory is
// aligned to the width, for 16 to 8. Source and destination do not overlap.
#ifndef NACRE_MOVE_MOVE_H
#define NACRE_MOVE_MOVE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/parallel.h"

enum { NACRE_MOVE_AXES = 8 };

// A box of elements to copy: for every index i with i[a] < extent[a],
//     dst[dst_at + sum(i[a] * to[a])] = src[src_at + sum(i[a] * from[a])].
// A step `from` of 0 repeats elements. No two indices have the same destination.
// It is fastest when the last axis has the steps to = 1 and from = 1, then when
// it has to = 1 and another axis has from = 1. No axes is a single element.
typedef struct {
    const void *src;
    void *dst;
    size_t src_at, dst_at;
    size_t axes;
    size_t extent[NACRE_MOVE_AXES];
    ptrdiff_t from[NACRE_MOVE_AXES], to[NACRE_MOVE_AXES];
    size_t chunk;  // the driver's own
} nacre_move_box;

// Copies every box of the list. Boxes have destinations apart from each other's
// and from all sources. transpose is a row of w<width>_transpose.
void nacre_move_boxes(const nacre_kernel *transpose, size_t width, nacre_move_box *list, size_t count, nacre_team *team);

// Blocks by number: with src [outer, axis, block], dst [outer, count, block],
//     dst[o, j, :] = src[o, index[j], :].
// block_bytes is a multiple of an element; every index is in 0..axis-1.
void nacre_move_gather(const void *src, const int64_t *index, void *dst, size_t outer, size_t axis, size_t count,
                       size_t block_bytes, nacre_team *team);

// Rows w1_transpose, w2_transpose, w4_transpose, w8_transpose, w16_transpose:
//     dst[c * dst_stride + r] = src[r * src_stride + c], r < rows, c < cols.
// The driver calls them with blocks that fit the first-level cache.
typedef void (*nacre_transpose_fn)(const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride,
                                   ptrdiff_t dst_stride);

// One call of a row, for tests.
void nacre_move_transpose(const nacre_kernel *k, const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride,
                          ptrdiff_t dst_stride);

// The rows of kernels.inc.
extern const nacre_kernel nacre_move_kernels[];
extern const size_t nacre_move_kernel_count;

#endif
