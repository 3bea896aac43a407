// The oracle of f32_pooling.
#include <math.h>

#include "pool/pool.h"

static inline float f32_pooling_step_scalar(bool max, float acc, float x) { return max ? (x > acc ? x : acc) : acc + x; }

static void rows_scalar(const float *const *rows, size_t count, bool max, bool fresh, size_t width, float *buf) {
    for (size_t i = 0; i < width; i++) {
        float acc = !fresh ? buf[i] : max ? -INFINITY : 0.0f;
        for (size_t r = 0; r < count; r++) acc = f32_pooling_step_scalar(max, acc, rows[r][i]);
        buf[i] = acc;
    }
}

void nacre_f32_pooling_cols__scalar(const float *row, size_t n, const nacre_pooling_cols *p, float *out) {
    for (size_t i = 0; i < n; i++) {
        float acc = p->max ? -INFINITY : 0.0f;
        for (size_t t = 0; t < p->taps; t++) acc = f32_pooling_step_scalar(p->max, acc, row[i * p->stride + t * p->dilation]);
        out[i] = p->max ? acc : acc / (p->counts[i] * p->outer);
    }
}

const nacre_f32_pooling_impl *nacre_f32_pooling__scalar(void) {
    static const nacre_f32_pooling_impl impl = {rows_scalar, nacre_f32_pooling_cols__scalar};
    return &impl;
}
