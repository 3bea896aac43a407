// The oracle of f32_conv_depthwise_blocked.
#include "conv/blocked.h"

static void blocked_row_scalar(const nacre_f32_blocked_row *r) {
    for (size_t i = 0; i < r->out * r->block; i++) {
        const size_t o = i / r->block, channel = i % r->block;
        float v = r->bias[channel];
        for (size_t kx = 0; kx < r->kernel_w; kx++) {
            const size_t at = o * r->stride + kx * r->dilation;
            if (at < r->pad || at - r->pad >= r->in) continue;
            for (size_t ky = 0; ky < r->kernel_h; ky++) {
                v += r->w[(ky * r->kernel_w + kx) * r->block + channel] * r->x[ky * r->gap + (at - r->pad) * r->block + channel];
            }
        }
        if (r->add != NULL) v += r->add[i];
        if (r->finish->clamp) {
            if (v < r->finish->low) v = r->finish->low;
            if (v > r->finish->high) v = r->finish->high;
        }
        r->y[i] = v;
    }
}

const nacre_f32_blocked_depthwise_impl *nacre_f32_depthwise_blocked__scalar(void) {
    static const nacre_f32_blocked_depthwise_impl impl = {1, blocked_row_scalar};
    return &impl;
}
