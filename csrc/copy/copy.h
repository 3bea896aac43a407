// Copies of elements: between strided views, transposed, by index.
//
// An element is an opaque block of `width` bytes: 1, 2, 4, 8 or 16. Memory is aligned to the width,
// or to 8 bytes if the width is 16. Source and destination do not overlap. An index is an integer
// of 4 or 8 bytes, given by a word. A negative index counts from the end; an index out of range
// ends the run.
#ifndef NACRE_COPY_COPY_H
#define NACRE_COPY_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

enum { NACRE_COPY_AXES = 16 };

// Op copy, operands src, dst. A list of boxes, each with words
//     src_at, dst_at, then extent, from, to for every axis;
// for every index i with i[a] < extent[a],
//     dst[dst_at + sum(i[a] * to[a])] = src[src_at + sum(i[a] * from[a])].
// A step `from` of 0 repeats elements. No two indices, of all boxes, have the same destination. It
// is fastest if the last axis has to = 1 and from = 1, then if it has to = 1 and another axis has
// from = 1. A box is skipped if source and destination are the same elements. transpose is a row of
// w<width>_transpose; axes is at most NACRE_COPY_AXES.
typedef struct {
    int64_t transpose, width, axes, boxes;
    int64_t list[];
} nacre_copy_words;

// Op slice, operands x, y, starts, ends, axes, steps. Copies every steps[c]-th index from starts[c]
// to before ends[c] of axis axes[c] of x, and the whole of axes without a cut. If axes are left
// out, they are the first ones; if steps are left out, they are 1. list holds, for each axis, its
// extents in x and in y. The run ends if the cuts give another extent than y has. The *_bytes are
// bytes per element of that operand.
typedef struct {
    int64_t transpose, width, cuts;
    int64_t starts_bytes, ends_bytes, axes_bytes, steps_bytes;
    int64_t rank;
    int64_t list[];
} nacre_slice_words;

// Op gather, operands src, index, dst. Blocks of `block` bytes by tuples of indices:
//     dst[o, j] = src[o, index(o, j)[0], ..., index(o, j)[tuple - 1]]
// for o < outer, j < count. extents are the extents of the indexed axes. The tuples are [count,
// tuple] if shared is set, else [outer, count, tuple]. Negative indices count from the end, or end
// the run if forward is set.
typedef struct {
    int64_t index_bytes, outer, count, shared, forward, block, tuple;
    int64_t extents[];
} nacre_gather_words;

// Op scatter, operands index, updates, dst: dst[index(j)[0], ...] = updates[j] for j < count in
// order. If reduce, a row of a reduction, is not 0, updates are reduced into dst instead. block
// counts elements of `width` bytes.
typedef struct {
    int64_t index_bytes, reduce, width, count, block, tuple;
    int64_t extents[];
} nacre_scatter_words;

// Ops gather_elements, operands src, index, dst, and scatter_elements, operands index, updates,
// dst. Single elements by an index along one axis: with p the positions of index in order, and i[a]
// the index of p in axis a of list,
//     at(p) = sum(i[a] * step[a]) + index[p] * along,
//     gather_elements: dst[p] = src[at(p)], scatter_elements: dst[at(p)] = updates[p].
// list holds extent and step of every axis; extent is the extent of the indexed axis. Positions
// that differ in an axis with a step have different at. reduce is as in scatter.
typedef struct {
    int64_t index_bytes, reduce, width, extent, along, axes;
    int64_t list[];
} nacre_elements_words;

// Reductions, ops <type>_scatter_<add, mul, max, min>: dst[i] = dst[i] op src[i] for i < n. Sums
// and products of integers wrap around. A NaN wins over every number.
typedef void nacre_scatter_reduce_fn(void *dst, const void *src, size_t n);

// Ops <type>_fold, operands x, y: add windows up into the image that they were cut from. x is
// [planes, window..., blocks...] and y is [planes, image...]. An axis of the image has `blocks`
// windows. Element e of window b is at b * stride - pad + e * dilation; elements outside the image
// are skipped. Integers wrap around. 16-bit floats are summed by f32_fold, with the conversions of
// part half.
typedef struct {
    int64_t image, window, blocks, stride, dilation, pad;
} nacre_fold_axis;

typedef struct {
    int64_t planes;
    int64_t width;  // bytes of an element
    int64_t type;   // nacre_dtype; read only if half is not 0
    int64_t half, axes;
    nacre_fold_axis list[];
} nacre_fold_words;

// dst[r * to + i * step] += src[r * from + i] for r < rows, i < n.
typedef void nacre_fold_fn(const void *src, size_t from, void *dst, size_t to, size_t rows, size_t n, size_t step);

// Op triangle, operands x, k, y: the upper triangle of every [rows, cols] matrix from diagonal k
// on, or the lower one up to it, and zeros elsewhere. k is an int64; if left out, it is 0.
typedef struct {
    int64_t width, batch, rows, cols, upper;
} nacre_triangle_words;

// Op reverse_sequence, operands x, lengths, y. x is blocks of `block` bytes; time t of sequence b
// is block b * batch_step + t * time_step. The first lengths[b] blocks of a sequence are reversed.
typedef struct {
    int64_t length_bytes, block, batch, time, batch_step, time_step;
} nacre_reverse_sequence_words;

// Op one_hot, operands index, value, y: y[o, index[o, i], i] = value[1] for o < outer, i < inner,
// if 0 <= index < depth. Indices in -depth..-1 count from the end if from_end is set; others are
// skipped. y is [outer, depth, inner].
typedef struct {
    int64_t index_bytes, width, outer, depth, inner, from_end;
} nacre_one_hot_words;

// Ops store_i64, store_i32, operand y: y[i] = list[i] for i < count.
typedef struct {
    int64_t count;
    int64_t list[];
} nacre_store_words;

// Ops <type>_range of i16, i32, i64, f32 and f64, operands start, delta, y: for i < n,
//     y[i] = start + i * delta
// where i, the product and the sum are rounded to the type in this order. Integers wrap around.
typedef struct {
    int64_t n;
    int64_t width;  // bytes of an element
} nacre_range_words;

// y[i] = start + (first + i) * delta for i < n.
typedef void nacre_range_fn(const void *start, const void *delta, size_t first, size_t n, void *y);

// Parts w1_transpose, w2_transpose, w4_transpose, w8_transpose, w16_transpose:
//     dst[c * dst_stride + r] = src[r * src_stride + c], r < rows, c < cols.
// Callers pass blocks that fit the first-level cache.
typedef void nacre_transpose_fn(const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride,
                                ptrdiff_t dst_stride);

// nacre_copy_kernels returns the rows of kernels.inc and their count.
const nacre_kernel *nacre_copy_kernels(size_t *count);

#endif
