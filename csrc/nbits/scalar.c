// The oracle of the family.
#include <string.h>

#include "nbits/nbits.h"

enum { SCALAR_LANES = 4 };

static void f32_nbits_arrange_scalar(const nacre_nbits *w, const float *a, float *x) {
    memcpy(x, a, w->k * sizeof *a);
    for (size_t p = w->k; p < nacre_nbits_arranged(w, SCALAR_LANES); p++) x[p] = 0;
}

static void f32_nbits_dot_scalar(const nacre_nbits *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < w->k; p++) sum += (double)x[i * nacre_nbits_arranged(w, SCALAR_LANES) + p] * nacre_nbits_at(w, j0 + j, p);
            y[i * ldy + j] = (float)sum;
        }
    }
}

static void f32_nbits_panel_scalar(const nacre_nbits *w, size_t k0, size_t k, size_t j0, size_t n, size_t width, float *dst) {
    for (size_t p = 0; p < k; p++) {
        for (size_t j = 0; j < width; j++) dst[p * width + j] = j < n ? nacre_nbits_at(w, j0 + j, k0 + p) : 0;
    }
}

const nacre_f32_nbits_impl *nacre_f32_nbits__scalar(void) {
    static const nacre_f32_nbits_impl impl = {SCALAR_LANES, f32_nbits_arrange_scalar, f32_nbits_dot_scalar, f32_nbits_panel_scalar};
    return &impl;
}
