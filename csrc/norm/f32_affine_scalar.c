#include "norm/norm.h"

void nacre_f32_moments__scalar(const float *x, size_t n, bool centred, float *mean, float *var) {
    double sum = 0, squares = 0;
    if (centred) {
        for (size_t i = 0; i < n; i++) sum += x[i];
    }
    const double m = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (x[i] - m) * (x[i] - m);
    *mean = (float)m;
    *var = (float)(squares / (double)n);
}

void nacre_f32_affine__scalar(const float *x, size_t n, float sub, float mul, float add, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul + add;
}

void nacre_f32_affine_each__scalar(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias, float *out) {
    for (size_t i = 0; i < n; i++) out[i] = (x[i] - sub) * mul * scale[i] + (bias == NULL ? 0.0f : bias[i]);
}
