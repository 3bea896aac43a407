// Vectors of columns for narrow matrices.
#ifndef NACRE_MATMUL_NARROW_H
#define NACRE_MATMUL_NARROW_H

#include <stdbool.h>
#include <string.h>

#include "matmul/matmul.h"

typedef float f32_4_vector __attribute__((vector_size(16)));
typedef float f32_8_vector __attribute__((vector_size(32)));
typedef float f32_16_vector __attribute__((vector_size(64)));
typedef double f64_4_vector __attribute__((vector_size(32)));
typedef double f64_8_vector __attribute__((vector_size(64)));

enum {
    NACRE_NARROW_DEPTH = 32,  // largest k
    NACRE_COLUMN_DEPTH = 64   // largest k for one column
};

// Returns the elements of a vector that holds n columns.
static inline size_t nacre_narrow_width(size_t n) { return n <= 4 ? 4 : n <= 8 ? 8 : 16; }

#endif
