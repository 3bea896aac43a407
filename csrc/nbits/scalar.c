// The oracles of the family.
#include <math.h>
#include <string.h>

#include "nbits/panels.h"

enum { SCALAR_LANES = 4, SCALAR_MOST = 4 };

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

// One slab of a panel.
typedef struct {
    size_t first, depth;  // codes of a lane
    const uint8_t *codes, *scales, *zeros;
} slab_scalar;

static slab_scalar slab_at_scalar(const nacre_nbits *w, const nacre_nbits_panels *p, const uint8_t *panel, size_t s) {
    slab_scalar l = {.first = s * p->depth, .depth = nacre_nbits_slab_depth(p, s)};
    l.codes = panel + s * nacre_nbits_slab_bytes(w, p->lanes, p->depth);
    l.scales = l.codes + nacre_nbits_code_bytes(w, p->lanes, l.depth);
    l.zeros = l.scales + nacre_nbits_scale_bytes(w, p->lanes);
    return l;
}

static float slab_zero_scalar(const nacre_nbits *w, const slab_scalar *l, size_t lane) {
    switch (w->from) {
    case NACRE_NBITS_CODES: return (float)l->zeros[lane];
    case NACRE_NBITS_FLOATS: return nacre_nbits_float(l->zeros, w->type, lane);
    default: return (float)(1u << (w->bits - 1));
    }
}

static float slab_value_scalar(const nacre_nbits *w, const nacre_nbits_panels *p, const slab_scalar *l, size_t lane, size_t i) {
    const float code = (float)nacre_nbits_slab_code(l->codes, p->lanes, w->bits, lane, i);
    return (code - slab_zero_scalar(w, l, lane)) * nacre_nbits_float(l->scales, w->type, lane);
}

static void f32_nbits_sums_scalar(const nacre_nbits *w, const nacre_nbits_panels *p, size_t rows, const float *x, const uint8_t *panel, size_t n,
                                  float *y, size_t ldy) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t s = 0; s < p->count; s++) {
                const slab_scalar l = slab_at_scalar(w, p, panel, s);
                for (size_t i = 0; i < l.depth; i++) {
                    sum += (double)x[(l.first + i) * rows + r] * slab_value_scalar(w, p, &l, j, i);
                }
            }
            y[r * ldy + j] = (float)sum;
        }
    }
}

static void f32_nbits_decode_scalar(const nacre_nbits *w, const nacre_nbits_panels *p, const uint8_t *panel, size_t k0, size_t k, size_t width,
                                    float *dst) {
    for (size_t at = 0; at < k; at++) {
        const slab_scalar l = slab_at_scalar(w, p, panel, (k0 + at) / p->depth);
        for (size_t j = 0; j < p->lanes; j++) dst[at * width + j] = slab_value_scalar(w, p, &l, j, k0 + at - l.first);
    }
}

const nacre_f32_nbits_impl *nacre_f32_nbits__scalar(void) {
    static const nacre_f32_nbits_impl impl = {SCALAR_LANES,          SCALAR_MOST,           f32_nbits_arrange_scalar, f32_nbits_dot_scalar,
                                              f32_nbits_panel_scalar, f32_nbits_sums_scalar, f32_nbits_decode_scalar};
    return &impl;
}

#define K(name) i8_nbits_##name##_scalar
#include "nbits/i8_round.inc"
#undef K

static void i8_nbits_dot_scalar(const nacre_nbits *w, const nacre_nbits_panels *p, size_t rows, const uint8_t *x, const uint8_t *panel, size_t n,
                                float *y, size_t ldy) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) {
            const uint8_t *at = x;
            float sum = 0;
            for (size_t s = 0; s < p->count; s++) {
                const slab_scalar l = slab_at_scalar(w, p, panel, s);
                int32_t dot = 0, start;
                for (size_t i = 0; i < l.depth; i++) {
                    dot += (int32_t)nacre_nbits_slab_code(l.codes, p->lanes, w->bits, j, i) * (int8_t)at[(i / 4 * rows + r) * 4 + i % 4];
                }
                at += l.depth * rows;
                float total, scale;
                memcpy(&start, at + r * 4, sizeof start);
                memcpy(&total, at + r * 4, sizeof total);
                memcpy(&scale, at + (rows + r) * 4, sizeof scale);
                at += 8 * rows;
                const int middle = w->from == NACRE_NBITS_MIDDLE;
                const float centred = middle ? (float)(dot + start) : fmaf(-slab_zero_scalar(w, &l, j), total, (float)dot);
                sum = fmaf(centred, nacre_nbits_float(l.scales, w->type, j) * scale, sum);
            }
            y[r * ldy + j] = sum;
        }
    }
}

const nacre_i8_nbits_impl *nacre_i8_nbits__scalar(void) {
    static const nacre_i8_nbits_impl impl = {SCALAR_LANES, SCALAR_MOST, i8_nbits_round_scalar, i8_nbits_dot_scalar};
    return &impl;
}
