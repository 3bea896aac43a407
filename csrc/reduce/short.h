// Short rows, of which as many are turned into columns as kernels take at a time.
#ifndef NACRE_REDUCE_SHORT_H
#define NACRE_REDUCE_SHORT_H

#include "core/simd.h"
#include "reduce/reduce.h"

enum { NACRE_REDUCE_SHORT = 16 };  // elements of a short row at most

static inline __attribute__((always_inline)) void reduce_turn_rows(const float *x, size_t n, size_t rows, float *columns) {
    NACRE_SIMD for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < n; k++) columns[k * NACRE_REDUCE_COLS + r] = x[r * n + k];
    }
}

// Sets columns[k * NACRE_REDUCE_COLS + r] to x[r * n + k] for r < rows and k < n.
static inline void reduce_turn(const float *x, size_t n, size_t rows, float *columns) {
    switch (n) {
    case 2: reduce_turn_rows(x, 2, rows, columns); return;
    case 3: reduce_turn_rows(x, 3, rows, columns); return;
    case 4: reduce_turn_rows(x, 4, rows, columns); return;
    case 8: reduce_turn_rows(x, 8, rows, columns); return;
    default: reduce_turn_rows(x, n, rows, columns);
    }
}

#endif
