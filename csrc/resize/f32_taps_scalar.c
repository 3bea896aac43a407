// The oracle of f32_grid_sample, f32_regions and f32_deform_columns.
#include <math.h>

#include "core/simd.h"
#include "core/vec.h"
#include "resize/taps.h"

#define K(name) taps_##name##_scalar
#include "resize/taps_axis.inc"

static void taps_sum_scalar(const float *x, const nacre_taps *t, const float *scale, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t k = 0; k < t->taps; k++) {
            const size_t at = k * t->pitch + i;
            if (t->there == NULL || t->there[at] != 0) sum += t->part[at] * x[t->at[at]];
        }
        y[i] = scale == NULL ? sum : sum * scale[i];
    }
}

static void taps_largest_scalar(const float *x, const nacre_taps *t, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) {
        float top = -INFINITY;
        for (size_t k = 0; k < t->taps; k++) {
            const float v = t->part[k * t->pitch + i] * x[t->at[k * t->pitch + i]];
            top = v > top ? v : top;
        }
        y[i] = top;
    }
}

static void taps_rows_scalar(const float *x, size_t stride, const int32_t *row, const float *part, size_t count,
        size_t n, float *y) {
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t k = 0; k < count; k++) sum += part[k] * x[(size_t)row[k] * stride + i];
        y[i] = sum;
    }
}

const nacre_f32_taps_impl *nacre_f32_taps__scalar(void) {
    static const nacre_f32_taps_impl impl = {taps_sum_scalar, taps_largest_scalar, taps_rows_scalar, taps_axis_scalar,
            taps_join_scalar};
    return &impl;
}
