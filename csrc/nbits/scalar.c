// The oracles of the family.
#include <string.h>

#include "nbits/nbits.h"

static void f32_nbits_arrange_scalar(const nacre_nbits *w, const float *a, float *x) {
    memcpy(x, a, w->k * sizeof *a);
    for (size_t p = w->k; p < nacre_nbits_arranged(w, 1); p++) x[p] = 0;
}

static void f32_nbits_dot_scalar(const nacre_nbits *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < w->k; p++) sum += (double)x[i * nacre_nbits_arranged(w, 1) + p] * nacre_nbits_at(w, j0 + j, p);
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
    static const nacre_f32_nbits_impl impl = {1, f32_nbits_arrange_scalar, f32_nbits_dot_scalar, f32_nbits_panel_scalar};
    return &impl;
}

// One word of a rounded row.
typedef struct {
    const int8_t *q;
    float scale, sum;
    int32_t start;
} i8_nbits_word;

static i8_nbits_word i8_nbits_word_scalar(const nacre_nbits *w, const uint8_t *x, size_t i) {
    const size_t numbers = nacre_nbits_per_word(w);
    const uint8_t *const at = x + i * (numbers + 8);
    i8_nbits_word s = {.q = (const int8_t *)at};
    memcpy(&s.start, at + numbers, sizeof s.start);
    memcpy(&s.sum, at + numbers, sizeof s.sum);
    memcpy(&s.scale, at + numbers + 4, sizeof s.scale);
    return s;
}

static void i8_nbits_dot_scalar(const nacre_nbits *w, const uint8_t *x, size_t m, size_t j0, size_t n, float *y, size_t ldy) {
    const size_t bytes = (w->k * w->bits + 7) / 8, words = nacre_nbits_row_words(w), row = nacre_nbits_round_bytes(w, 1);
    const int middle = w->from == NACRE_NBITS_MIDDLE;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = j0; j < j0 + n; j++) {
            double sum = 0;
            for (size_t l = 0; l < words; l++) {
                const i8_nbits_word s = i8_nbits_word_scalar(w, x + i * row, l);
                int32_t dot = 0;
                for (size_t b = 0; b < 4 && l * 4 + b < bytes; b++) {
                    const unsigned codes = w->codes[j * w->row_bytes + l * 4 + b];
                    for (size_t c = 0; c < 8 / w->bits; c++) dot += (int32_t)(codes >> c * w->bits & ((1u << w->bits) - 1)) * s.q[c * 4 + b];
                }
                const size_t block = l * nacre_nbits_per_word(w) / w->block;
                const double centred = middle ? (double)(dot + s.start) : dot - (double)nacre_nbits_zero(w, j, block) * (double)s.sum;
                sum += centred * ((double)s.scale * nacre_nbits_scale(w, j, block));
            }
            y[i * ldy + j - j0] = (float)sum;
        }
    }
}

const nacre_i8_nbits_impl *nacre_i8_nbits__scalar(void) {
    static const nacre_i8_nbits_impl impl = {1, i8_nbits_dot_scalar};
    return &impl;
}
