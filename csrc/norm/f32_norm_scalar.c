#include "norm/norm.h"

static double f32_norm_sum_scalar(const float *x, size_t n, bool squares, float shift) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - shift;
        sum += squares ? d * d : x[i];
    }
    return sum;
}

static void f32_norm_affine_scalar(const float *x, size_t n, float sub, float mul, float add, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul + add;
}

static void f32_norm_affine_each_scalar(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul * scale[i] + (bias == NULL ? 0.0f : bias[i]);
}

static void f32_norm_add_scalar(const float *x, const float *y, size_t n, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = x[i] + y[i];
}

const nacre_f32_norm_impl *nacre_f32_norm__scalar(void) {
    static const nacre_f32_norm_impl impl = {f32_norm_sum_scalar, f32_norm_affine_scalar, f32_norm_affine_each_scalar, f32_norm_add_scalar};
    return &impl;
}
