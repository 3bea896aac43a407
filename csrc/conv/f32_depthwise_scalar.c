// The oracles of f32_depthwise and of f32_depthwise_blocked.
#include "conv/blocked.h"
#include "conv/conv.h"
#include "conv/space.h"

// The oracle of f32_depthwise.
static void filter_scalar(const nacre_f32_depthwise_rows *t) {
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t j = 0; j < t->n; j++) {
            const float *const src = t->src + r * t->step + j, *w = t->w;
            float v = t->bias;
            for (size_t ty = 0; ty < t->kernel_h; ty++) {
                for (size_t tx = 0; tx < t->kernel_w; tx++) v += *w++ * src[ty * t->gap + t->offset[tx]];
            }
            if (t->add != NULL) v += t->add[r * t->ldc + j];
            if (t->finish->clamp) {
                if (v < t->finish->low) v = t->finish->low;
                if (v > t->finish->high) v = t->finish->high;
            }
            t->out[r * t->ldc + j] = v;
        }
    }
}

static void fill_scalar(const nacre_f32_band *b, const float *x, size_t above, size_t rows, size_t below, float *dst) {
    const size_t row = b->parts * b->part;
    for (size_t i = 0; i < b->lead + above * row; i++) *dst++ = 0;
    for (; rows > 0; rows--, x += b->in) {
        for (size_t p = 0; p < b->parts; p++) {
            const size_t pad = conv_part_pad(b, p), n = conv_part_size(b, p);
            for (size_t i = 0; i < b->part; i++) *dst++ = i < n ? x[(pad + i) * b->parts + p - b->pad] : 0;
        }
    }
    for (size_t i = 0; i < below * row; i++) *dst++ = 0;
}

const nacre_f32_depthwise_impl *nacre_f32_depthwise__scalar(void) {
    static const nacre_f32_depthwise_impl impl = {filter_scalar, fill_scalar, &nacre_f32_depthwise_drivers};
    return &impl;
}

// The oracle of f32_conv_depthwise_blocked.
static void blocked_rows_scalar(const nacre_f32_blocked_rows *r) {
    for (size_t i = 0; i < r->rows * r->out * r->block; i++) {
        const size_t row = i / r->block / r->out, o = i / r->block % r->out, channel = i % r->block;
        const float *const x = r->x + row * r->next;
        float v = r->bias[channel];
        for (size_t kx = 0; kx < r->kernel_w; kx++) {
            const size_t at = o * r->stride + kx * r->dilation;
            if (at < r->pad || at - r->pad >= r->in) continue;
            for (size_t ky = 0; ky < r->kernel_h; ky++) {
                for (size_t k = 0; k < r->channels; k++) {
                    const float *const pixel = x + ky * r->gap + (at - r->pad) * r->block;
                    v += r->w[((ky * r->kernel_w + kx) * r->channels + k) * r->block + channel] * pixel[channel / r->channels * r->channels + k];
                }
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
    static const nacre_f32_blocked_depthwise_impl impl = {1, blocked_rows_scalar};
    return &impl;
}
