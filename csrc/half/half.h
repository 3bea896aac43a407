// Conversions of arrays between float and narrower types: the 16-bit float formats, and int8 codes
// with a scale. Rounding is to nearest, ties to even. A NaN stays a NaN.
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

// nacre_half_codes sets dst[i] to src[i] / scale, rounded, for n floats and the scale max |src[i]| /
// 127, which it returns. If an element is not finite, the codes are 0 and the scale is NaN.
typedef float nacre_half_codes(const float *src, int8_t *dst, size_t n);

// nacre_half holds the conversions of one level to float and from it, indexed by nacre_dtype. They
// copy f32, convert f16 and bf16, widen i8, and are NULL for other types. A kernel row of op half has
// the signature nacre_half_fn.
typedef struct {
    nacre_half_convert *widen[NACRE_DTYPE_i8 + 1], *narrow[NACRE_DTYPE_i8 + 1];
    nacre_half_codes *codes;
    nacre_half_transpose *transpose;  // NULL if the level has none of its own
    nacre_half_rows *rows;            // likewise
} nacre_half;
typedef const nacre_half *nacre_half_fn(void);

static inline void nacre_half_copy(const void *src, void *dst, size_t n) { memcpy(dst, src, n * sizeof(float)); }

// nacre_half_scale returns the scale of codes for a largest magnitude with those bits, NaN if it is
// not finite.
static inline float nacre_half_scale(uint32_t top) {
    float largest;
    memcpy(&largest, &top, sizeof largest);
    return top < 0x7f800000u ? largest / 127 : __builtin_nanf("");
}

// NACRE_HALF_TABLE initialises widen or narrow with the conversions of f16, bf16 and i8.
#define NACRE_HALF_TABLE(f16, bf16, i8) \
    {[NACRE_DTYPE_f32] = nacre_half_copy, [NACRE_DTYPE_f16] = f16, [NACRE_DTYPE_bf16] = bf16, [NACRE_DTYPE_i8] = i8}

#endif
