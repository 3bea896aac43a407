// The oracle of f32_resample.
#include "resize/resize.h"

static void resample_cols_scalar(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j,
                                 float *out) {
    for (size_t c = 0; c < cols; c++) {
        float sum = 0;
        for (size_t t = 0; t < r->taps; t++) sum += r->weights[t * r->m + j] * x[t * stride + c];
        out[c] = sum;
    }
}

static void resample_row_scalar(const float *x, const nacre_resampling *r, float *out) {
    for (size_t j = 0; j < r->m; j++) {
        float sum = 0;
        for (size_t t = 0; t < r->taps; t++) sum += r->weights[t * r->m + j] * x[(size_t)r->start[j] + t * r->step];
        out[j] = sum;
    }
}

const nacre_f32_resample_impl *nacre_f32_resample__scalar(void) {
    static const nacre_f32_resample_impl impl = {resample_cols_scalar, resample_row_scalar};
    return &impl;
}
