// The oracles of the family.
#include <math.h>

#include "core/simd.h"
#include "core/vec.h"
#include "pool/blocked.h"
#include "pool/pool.h"

// The oracle of f32_pooling.
static inline float f32_pooling_step_scalar(bool max, float acc, float x) {
    return max ? (x > acc ? x : acc) : acc + x;
}

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
        for (size_t t = 0; t < p->taps; t++) {
            acc = f32_pooling_step_scalar(p->max, acc, row[i * p->stride + t * p->dilation]);
        }
        out[i] = p->max ? acc : acc / (p->counts[i] * p->outer);
    }
}

const nacre_f32_pooling_impl *nacre_f32_pooling__scalar(void) {
    static const nacre_f32_pooling_impl impl = {rows_scalar, nacre_f32_pooling_cols__scalar};
    return &impl;
}

// The oracle of f32_pooling_blocked.
static void blocked_pooling_scalar(const nacre_f32_blocked_pooling *r) {
    const nacre_pooling_axis *const c = r->columns;
    for (size_t i = 0; i < c->out * r->block; i++) {
        const size_t o = i / r->block, channel = i % r->block;
        float acc = r->max ? -INFINITY : 0.0f;
        for (size_t t = 0; t < c->taps; t++) {
            const size_t at = o * c->stride + t * c->dilation;
            if (at < c->pad || at - c->pad >= c->in) continue;
            for (size_t k = 0; k < r->slices * r->rows; k++) {
                const float v = r->x[k / r->rows * r->away + k % r->rows * r->gap + (at - c->pad) * r->block + channel];
                acc = !r->max ? acc + v : v > acc ? v : acc;
            }
        }
        r->y[i] = r->max ? acc : acc / (r->counts[o] * r->outer);
    }
}

const nacre_f32_blocked_pooling_impl *nacre_f32_pooling_blocked__scalar(void) {
    static const nacre_f32_blocked_pooling_impl impl = {1, blocked_pooling_scalar};
    return &impl;
}

// The oracle of i8_pooling.
#define K(name) i8_pooling_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "pool/i8_pooling.inc"
#undef K

// The oracle of max_index.
#define K(name) max_index_##name##__scalar
#include "pool/max_index.inc"
