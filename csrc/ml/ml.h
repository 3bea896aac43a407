// Classical machine learning: distances to support vectors.
#ifndef NACRE_ML_ML_H
#define NACRE_ML_ML_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"

// Rows of support vectors that are transposed are padded to a multiple of this.
enum { NACRE_ML_PAD = 16 };

// Op f32_rbf, for each j < n:
//     out_j = exp(-gamma * sum over i < k of (x_i - v[i * stride + j])^2)
// stride is n rounded up to NACRE_ML_PAD, and what lies behind n in a row of v is
// any number.
typedef void (*nacre_f32_rbf_fn)(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out);

// The same for each row of x[rows, k], to out[rows, n].
void nacre_f32_rbf(nacre_f32_rbf_fn kernel, nacre_pool *pool, const float *x, size_t rows, size_t k, const float *v, size_t n, float gamma,
                   float *out);

extern const nacre_kernel nacre_ml_kernels[];
extern const size_t nacre_ml_kernel_count;

#endif
