// The oracle of f32_conv_blocked.
#include "conv/dense.h"

static void tile_scalar(const nacre_f32_dense_tile *t) {
    for (size_t block = 0; block < t->blocks; block++) {
        for (size_t l = 0; l < t->lanes; l++) {
            const float *w = t->w + block * t->lanes + l;
            float *const y = t->y + block * t->y_block + l;
            float v = 0;
            for (size_t s = 0; s < t->steps; s++) {
                for (size_t k = 0; k < (s < t->whole ? t->lanes : t->rest); k++, w += t->blocks * t->lanes) {
                    v += t->x[t->step[s] + k] * *w;
                }
            }
            v += (t->start == NULL ? *y : t->start[block * t->lanes + l]) + (t->add == NULL ? 0
                                                                             : t->add[block * t->y_block + l]);
            if (t->finish != NULL) {
                if (t->finish->clamp && v < t->finish->low) v = t->finish->low;
                if (t->finish->clamp && v > t->finish->high) v = t->finish->high;
            }
            if (t->own == NULL || t->own[block * t->lanes + l] < 0) *y = v;
        }
    }
}

const nacre_f32_dense_impl *nacre_f32_conv_blocked__scalar(void) {
    static const nacre_f32_dense_impl impl = {1, 160 << 10, 9 << 10, {1}, tile_scalar, {1}, tile_scalar};
    return &impl;
}
