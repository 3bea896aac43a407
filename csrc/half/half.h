// Conversions between float and the 16-bit float formats, of many elements at
// once. Rounding is to nearest, ties to even; a NaN stays one.
#ifndef NACRE_HALF_HALF_H
#define NACRE_HALF_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"

const nacre_kernel *nacre_half_kernels(size_t *count);

// n elements of src as elements of dst.
typedef void nacre_half_convert(const void *src, void *dst, size_t n);

// The conversions of one ISA level to float and back, by type; those of
// NACRE_FLOAT32 copy. A kernel row of op half has the signature nacre_half_fn.
typedef struct {
    nacre_half_convert *widen[3], *narrow[3];
} nacre_half;
typedef const nacre_half *nacre_half_fn(void);

nacre_half_fn nacre_half__scalar, nacre_half__avx2, nacre_half__avx512, nacre_half__neon;
nacre_half_convert nacre_f16_to_f32__scalar, nacre_f32_to_f16__scalar, nacre_bf16_to_f32__scalar, nacre_f32_to_bf16__scalar;
nacre_half_convert nacre_f16_to_f32__avx2, nacre_f32_to_f16__avx2, nacre_bf16_to_f32__avx2, nacre_f32_to_bf16__avx2;
nacre_half_convert nacre_f16_to_f32__avx512, nacre_f32_to_f16__avx512, nacre_bf16_to_f32__avx512;
nacre_half_convert nacre_f16_to_f32__neon, nacre_f32_to_f16__neon;
nacre_half_convert nacre_half_copy;

#endif
