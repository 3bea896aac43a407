// Batches of matrix products.
#ifndef NACRE_MATMUL_BATCH_H
#define NACRE_MATMUL_BATCH_H

#include <stddef.h>

// The batch axes, outermost first: `rank` extents, then as many strides of a, then of b. A stride
// is 0 if the operand is shared. Results follow each other without gaps.
typedef struct {
    size_t rank;
    const size_t *axes;
} nacre_batch;

static inline size_t nacre_batch_count(const nacre_batch *b) {
    size_t n = 1;
    for (size_t d = 0; d < b->rank; d++) n *= b->axes[d];
    return n;
}

// Returns the offset of operand 0 (a) or 1 (b) for product `index`.
static inline size_t nacre_batch_offset(const nacre_batch *b, int operand, size_t index) {
    const size_t *const strides = b->axes + (size_t)(operand + 1) * b->rank;
    size_t offset = 0;
    for (size_t d = b->rank; d-- > 0;) {
        offset += index % b->axes[d] * strides[d];
        index /= b->axes[d];
    }
    return offset;
}

// Returns the number of different matrices of an operand. Axes along which it is shared do not
// count.
static inline size_t nacre_batch_distinct(const nacre_batch *b, int operand) {
    const size_t *const strides = b->axes + (size_t)(operand + 1) * b->rank;
    size_t n = 1;
    for (size_t d = 0; d < b->rank; d++) n *= strides[d] != 0 ? b->axes[d] : 1;
    return n;
}

// Returns the number, among the different matrices of an operand, of the one in product `index`.
static inline size_t nacre_batch_number(const nacre_batch *b, int operand, size_t index) {
    const size_t *const strides = b->axes + (size_t)(operand + 1) * b->rank;
    size_t number = 0, weight = 1;
    for (size_t d = b->rank; d-- > 0;) {
        if (strides[d] != 0) {
            number += index % b->axes[d] * weight;
            weight *= b->axes[d];
        }
        index /= b->axes[d];
    }
    return number;
}

// Returns the offset of different matrix `number` of an operand.
static inline size_t nacre_batch_distinct_offset(const nacre_batch *b, int operand, size_t number) {
    const size_t *const strides = b->axes + (size_t)(operand + 1) * b->rank;
    size_t offset = 0;
    for (size_t d = b->rank; d-- > 0;) {
        if (strides[d] == 0) continue;
        offset += number % b->axes[d] * strides[d];
        number /= b->axes[d];
    }
    return offset;
}

#endif
