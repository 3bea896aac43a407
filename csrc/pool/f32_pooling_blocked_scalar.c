// The oracle of f32_pooling_blocked.
#include <math.h>

#include "pool/blocked.h"

static void blocked_pooling_scalar(const nacre_f32_blocked_pooling *r) {
    const nacre_pooling_axis *const c = r->columns;
    for (size_t i = 0; i < c->out * r->block; i++) {
        const size_t o = i / r->block, channel = i % r->block;
        float acc = r->max ? -INFINITY : 0.0f;
        for (size_t t = 0; t < c->taps; t++) {
            const size_t at = o * c->stride + t * c->dilation;
            if (at < c->pad || at - c->pad >= c->in) continue;
            for (size_t k = 0; k < r->rows; k++) {
                const float v = r->x[k * r->gap + (at - c->pad) * r->block + channel];
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
