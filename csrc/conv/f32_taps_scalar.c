// The oracle of f32_taps.
#include "conv/conv.h"

static void filter_scalar(const float *src, size_t step, size_t taps, const size_t *offset, const float *w, float bias,
                          const float *add, const nacre_f32_finish *f, float *out, size_t ldc, size_t rows, size_t n) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) out[r * ldc + j] = bias;
        for (size_t t = 0; t < taps; t++) {
            for (size_t j = 0; j < n; j++) out[r * ldc + j] += w[t] * src[r * step + offset[t] + j];
        }
        for (size_t j = 0; j < n; j++) {
            float v = out[r * ldc + j];
            if (add != NULL) v += add[r * ldc + j];
            if (f->clamp) {
                if (v < f->low) v = f->low;
                if (v > f->high) v = f->high;
            }
            out[r * ldc + j] = v;
        }
    }
}

static void split_scalar(const float *src, size_t step, size_t n, float *dst) {
    for (size_t j = 0; j < n; j++) dst[j] = src[j * step];
}

const nacre_f32_taps_impl *nacre_f32_taps__scalar(void) {
    static const nacre_f32_taps_impl impl = {filter_scalar, split_scalar};
    return &impl;
}
