// Batches of matrix products.
#ifndef NACRE_MATMUL_BATCH_H
#define NACRE_MATMUL_BATCH_H

#include <stddef.h>
#include <stdint.h>

// The batch axes, outermost first: `rank` extents, then as many strides of a, then of b. A stride
// is 0 if the operand is shared. Results follow each other without gaps. None is negative.
typedef struct {
    size_t rank;
    const int64_t *axes;
} nacre_batch;

static inline size_t nacre_batch_extent(const nacre_batch *b, size_t axis) { return (size_t)b->axes[axis]; }

// Returns the stride of operand 0 (a) or 1 (b) along an axis.
static inline size_t nacre_batch_stride(const nacre_batch *b, int operand, size_t axis) {
    return (size_t)b->axes[(size_t)(operand + 1) * b->rank + axis];
}

static inline size_t nacre_batch_count(const nacre_batch *b) {
    size_t n = 1;
    for (size_t d = 0; d < b->rank; d++) n *= nacre_batch_extent(b, d);
    return n;
}

// Returns the offset of operand 0 (a) or 1 (b) for product `index`.
static inline size_t nacre_batch_offset(const nacre_batch *b, int operand, size_t index) {
    size_t offset = 0;
    for (size_t d = b->rank; d-- > 0;) {
        offset += index % nacre_batch_extent(b, d) * nacre_batch_stride(b, operand, d);
        index /= nacre_batch_extent(b, d);
    }
    return offset;
}

// Returns the number of different matrices of an operand. Axes along which it is shared do not
// count.
static inline size_t nacre_batch_distinct(const nacre_batch *b, int operand) {
    size_t n = 1;
    for (size_t d = 0; d < b->rank; d++) n *= nacre_batch_stride(b, operand, d) != 0 ? nacre_batch_extent(b, d) : 1;
    return n;
}

// Returns the number, among the different matrices of an operand, of the one in product `index`.
static inline size_t nacre_batch_number(const nacre_batch *b, int operand, size_t index) {
    size_t number = 0, weight = 1;
    for (size_t d = b->rank; d-- > 0;) {
        if (nacre_batch_stride(b, operand, d) != 0) {
            number += index % nacre_batch_extent(b, d) * weight;
            weight *= nacre_batch_extent(b, d);
        }
        index /= nacre_batch_extent(b, d);
    }
    return number;
}

// Returns the offset of different matrix `number` of an operand.
static inline size_t nacre_batch_distinct_offset(const nacre_batch *b, int operand, size_t number) {
    size_t offset = 0;
    for (size_t d = b->rank; d-- > 0;) {
        if (nacre_batch_stride(b, operand, d) == 0) continue;
        offset += number % nacre_batch_extent(b, d) * nacre_batch_stride(b, operand, d);
        number /= nacre_batch_extent(b, d);
    }
    return offset;
}

#endif
