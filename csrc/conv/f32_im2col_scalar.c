#include <string.h>

#include "conv/conv.h"
#include "conv/space.h"
#include "core/simd.h"

#define IM2COL_ROWS(function, T)                                                                                              \
    static void function(const conv_run *runs, size_t count, size_t step, const T *x, size_t plane, size_t n, size_t nr, T *dst, \
                         size_t ld) {                                                                                         \
        for (size_t r = 0; r < n; r++, x += plane, dst += ld) {                                                               \
            memset(dst, 0, nr * sizeof *dst);                                                                                 \
            for (size_t i = 0; i < count; i++) {                                                                              \
                T *const d = dst + runs[i].lane;                                                                              \
                const T *const s = x + runs[i].offset;                                                                        \
                if (step == 1) {                                                                                              \
                    NACRE_SIMD for (size_t l = 0; l < runs[i].lanes; l++) d[l] = s[l];                                        \
                } else {                                                                                                      \
                    NACRE_SIMD for (size_t l = 0; l < runs[i].lanes; l++) d[l] = s[l * step];                                 \
                }                                                                                                             \
            }                                                                                                                 \
        }                                                                                                                     \
    }
IM2COL_ROWS(im2col_rows_scalar, float)
IM2COL_ROWS(im2col_rows_half, uint16_t)
IM2COL_ROWS(im2col_rows_f64, double)
#undef IM2COL_ROWS

#define T float
#define OWN(name) im2col_scalar_##name
#define ROWS im2col_rows_scalar
#include "conv/f32_im2col.inc"
#undef T
#undef OWN
#undef ROWS

#define T uint16_t
#define OWN(name) im2col_half_##name
#define ROWS im2col_rows_half
#include "conv/f32_im2col.inc"
#undef T
#undef OWN
#undef ROWS

#define T double
#define OWN(name) im2col_f64_##name
#define ROWS im2col_rows_f64
#include "conv/f32_im2col.inc"
#undef T
#undef OWN
#undef ROWS

void nacre_f64_im2col__scalar(const nacre_conv *c, const double *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                              double *dst) {
    im2col_f64_panels(c, x, k0, k, j0, n, nr, dst);
}

void nacre_f32_im2col__scalar(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                              float *dst) {
    im2col_scalar_panels(c, x, k0, k, j0, n, nr, dst);
}

void nacre_half_im2col(const nacre_half *half, nacre_dtype type, const nacre_conv *c, const uint16_t *x, size_t k0,
                       size_t k, size_t j0, size_t n, size_t nr, float *dst) {
    enum { PIECE = 4096 };
    uint16_t piece[PIECE];
    const size_t most = PIECE / nr;
    for (size_t j = 0; j < n; j += nr) {
        for (size_t p = 0; p < k; p += most) {
            const size_t rows = nacre_min(most, k - p);
            im2col_half_panel(c, x, k0 + p, rows, j0 + j, nacre_min(nr, n - j), nr, piece);
            half->widen[type](piece, dst + j * k + p * nr, rows * nr);
        }
    }
}
