// The oracles of the family.
#include <math.h>

#include "core/simd.h"
#include "norm/norm.h"

void nacre_f32_lrn__scalar(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p,
                           float *out) {
    const size_t before = (p->size - 1) / 2, after = p->size / 2;
    for (size_t k = 0; k < channels; k++) {
        const size_t first = k < before ? 0 : k - before, last = channels - k <= after ? channels : k + after + 1;
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            for (size_t j = first; j < last; j++) sum += (double)x[j * stride + c] * x[j * stride + c];
            out[k * stride + c] = (float)(x[k * stride + c] / pow(p->bias + p->alpha * sum, p->beta));
        }
    }
}

static double f32_norm_sum_scalar(const float *x, size_t n, bool squares, float shift) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - shift;
        sum += squares ? d * d : x[i];
    }
    return sum;
}

static void f32_norm_affine_scalar(const float *x, size_t n, float sub, float mul, float add, float *out) {
    NACRE_SIMD for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul + add;
}

static void f32_norm_affine_each_scalar(const float *x, size_t n, float sub, float mul, const float *scale,
                                        const float *bias, float *out) {
    NACRE_SIMD for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul * scale[i] + (bias == NULL ? 0.0f : bias[i]);
}

static void f32_norm_add_scalar(const float *x, const float *y, size_t n, float *out) {
    NACRE_SIMD for (size_t i = 0; i < n; i++) out[i] = x[i] + y[i];
}

const nacre_f32_norm_impl *nacre_f32_norm__scalar(void) {
    static const nacre_f32_norm_impl impl = {f32_norm_sum_scalar, f32_norm_affine_scalar, f32_norm_affine_each_scalar,
                                             f32_norm_add_scalar};
    return &impl;
}

void nacre_f32_softmax__scalar(const float *x, size_t n, size_t stride, size_t cols, bool log_, float *out) {
    for (size_t c = 0; c < cols; c++) {
        float top = -INFINITY;
        for (size_t k = 0; k < n; k++) {
            if (x[k * stride + c] > top) top = x[k * stride + c];
        }
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += exp((double)x[k * stride + c] - top);
        const double log_sum = log(sum);
        for (size_t k = 0; k < n; k++) {
            const double d = (double)x[k * stride + c] - top;
            out[k * stride + c] = (float)(log_ ? d - log_sum : exp(d) / sum);
        }
    }
}
