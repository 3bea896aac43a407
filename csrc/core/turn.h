// Short rows, turned into columns for kernels that take columns side by side.
#ifndef NACRE_CORE_TURN_H
#define NACRE_CORE_TURN_H

#include <stddef.h>

#include "core/simd.h"

enum {
    NACRE_TURN_ROW = 16,  // most elements of a short row
    NACRE_TURN_COLS = 64  // columns side by side: most rows turned at a time
};

static inline __attribute__((always_inline)) void turn_rows(const float *x, size_t n, size_t rows,
                                                            float *columns) {
    NACRE_SIMD for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < n; k++) columns[k * NACRE_TURN_COLS + r] = x[r * n + k];
    }
}

static inline __attribute__((always_inline)) void turn_columns(const float *columns, size_t n, size_t rows,
                                                               float *out) {
    NACRE_SIMD for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < n; k++) out[r * n + k] = columns[k * NACRE_TURN_COLS + r];
    }
}

// NACRE_TURN calls turn with a constant n for common lengths of rows.
#define NACRE_TURN(turn, from, n, rows, to) \
    switch (n) {                            \
    case 2: turn(from, 2, rows, to); return;  \
    case 3: turn(from, 3, rows, to); return;  \
    case 4: turn(from, 4, rows, to); return;  \
    case 8: turn(from, 8, rows, to); return;  \
    case 16: turn(from, 16, rows, to); return; \
    default: turn(from, n, rows, to);       \
    }

// nacre_turn sets columns[k * NACRE_TURN_COLS + r] to x[r * n + k] for r < rows and k < n.
static inline __attribute__((unused)) void nacre_turn(const float *x, size_t n, size_t rows, float *columns) {
    NACRE_TURN(turn_rows, x, n, rows, columns)
}

// nacre_turn_back sets out[r * n + k] to columns[k * NACRE_TURN_COLS + r] for r < rows and k < n.
static inline __attribute__((unused)) void nacre_turn_back(const float *columns, size_t n, size_t rows, float *out) {
    NACRE_TURN(turn_columns, columns, n, rows, out)
}

#endif
