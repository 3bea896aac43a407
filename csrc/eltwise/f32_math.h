// The functions of f32_math.inc for each level. In bodies included afterwards, M(name) is one of
// them.
#ifndef NACRE_ELTWISE_F32_MATH_H
#define NACRE_ELTWISE_F32_MATH_H

#include <math.h>
#include <stddef.h>

// Largest distance from 0 at which sine, cosine and tangent are computed.
#define NACRE_PERIODIC_MOST 1e5f

// Scalar functions, for the numbers that vectors do not compute.
void nacre_f32_sin__scalar(const void *x, void *y, size_t n, const void *params);
void nacre_f32_cos__scalar(const void *x, void *y, size_t n, const void *params);
void nacre_f32_tan__scalar(const void *x, void *y, size_t n, const void *params);
void nacre_f32_pow__scalar(const void *a, size_t step_a, const void *b, size_t step_b, void *y, size_t n);
void nacre_f32_fmod__scalar(const void *a, size_t step_a, const void *b, size_t step_b, void *y, size_t n);

#define NACRE_BODY "eltwise/f32_math.inc"
#define NACRE_NAME f32_math
#include "core/each_level.h"

#define M(name) NACRE_LEVEL_STATIC(f32_math, name, NACRE_LEVEL)

#endif
