// Conversions between float and the 16-bit float formats, of many elements at
// once. Rounding is to nearest, ties to even; a NaN stays one.
#ifndef NACRE_HALF_HALF_H
#define NACRE_HALF_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "core/kernel.h"

const nacre_kernel *nacre_half_kernels(size_t *count);

// n elements of src as elements of dst.
typedef void nacre_half_convert(const void *src, void *dst, size_t n);

// dst[p*width + l] = src[l*lane + p] for p < k and l < lanes <= width, of floats.
typedef void nacre_half_transpose(size_t k, size_t lanes, const float *src, size_t lane, size_t width, float *dst);

// dst[p*width + l] = src[p*step + l] for p < k and l < lanes, and 0 for the other l < width, of
// floats.
typedef void nacre_half_rows(size_t k, size_t lanes, const float *src, size_t step, size_t width, float *dst);

// The conversions of one ISA level to float and back, by type; those of
// NACRE_FLOAT32 copy. A kernel row of op half has the signature nacre_half_fn.
typedef struct {
    nacre_half_convert *widen[3], *narrow[3];
    nacre_half_transpose *transpose;  // NULL where the level has none of its own
    nacre_half_rows *rows;            // as well
} nacre_half;
typedef const nacre_half *nacre_half_fn(void);

static inline void nacre_half_copy(const void *src, void *dst, size_t n) { memcpy(dst, src, n * sizeof(float)); }

#endif
