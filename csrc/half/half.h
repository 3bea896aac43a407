// Conversions of arrays between float and the 16-bit float formats. Rounding is to nearest, ties to
// even. A NaN stays a NaN.
#ifndef NACRE_HALF_HALF_H
#define NACRE_HALF_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "core/kernel.h"

const nacre_kernel *nacre_half_kernels(size_t *count);

// nacre_half_convert converts n elements of src to elements of dst.
typedef void nacre_half_convert(const void *src, void *dst, size_t n);

// nacre_half_transpose, of floats: dst[p*width + l] = src[l*lane + p] for p < k and l < lanes <=
// width.
typedef void nacre_half_transpose(size_t k, size_t lanes, const float *src, size_t lane, size_t width, float *dst);

// nacre_half_rows, of floats: dst[p*width + l] = src[p*step + l] for p < k and l < lanes, and 0 for
// lanes <= l < width.
typedef void nacre_half_rows(size_t k, size_t lanes, const float *src, size_t step, size_t width, float *dst);

// nacre_half holds the conversions of one level to float and from it, indexed by nacre_dtype. They
// copy f32, convert f16 and bf16, and are NULL for other types. A kernel row of op half has the
// signature nacre_half_fn.
typedef struct {
    nacre_half_convert *widen[NACRE_DTYPE_bf16 + 1], *narrow[NACRE_DTYPE_bf16 + 1];
    nacre_half_transpose *transpose;  // NULL if the level has none of its own
    nacre_half_rows *rows;            // likewise
} nacre_half;
typedef const nacre_half *nacre_half_fn(void);

static inline void nacre_half_copy(const void *src, void *dst, size_t n) { memcpy(dst, src, n * sizeof(float)); }

// NACRE_HALF_TABLE initialises widen or narrow with the conversions of f16 and bf16.
#define NACRE_HALF_TABLE(f16, bf16) \
    {[NACRE_DTYPE_f32] = nacre_half_copy, [NACRE_DTYPE_f16] = f16, [NACRE_DTYPE_bf16] = bf16}

#endif
