// Transposition of floats, 16 by 16. Include inside a target region.
#ifndef NACRE_HALF_TRANSPOSE_AVX512_H
#define NACRE_HALF_TRANSPOSE_AVX512_H

#include "core/vec.h"
#include "core/x86.h"

#define TRANSPOSE_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
// TRANSPOSE_FOUR takes four rows. Quarter q of b##j is element 4q + j of each.
#define TRANSPOSE_FOUR(g, x0, x1, x2, x3)                                                                                     \
    const __m512 l##g = _mm512_unpacklo_ps(x0, x1), h##g = _mm512_unpackhi_ps(x0, x1);                                        \
    const __m512 m##g = _mm512_unpacklo_ps(x2, x3), i##g = _mm512_unpackhi_ps(x2, x3);                                        \
    const __m512 b##g##0 = TRANSPOSE_PAIRS(lo, l##g, m##g), b##g##1 = TRANSPOSE_PAIRS(hi, l##g, m##g);                        \
    const __m512 b##g##2 = TRANSPOSE_PAIRS(lo, h##g, i##g), b##g##3 = TRANSPOSE_PAIRS(hi, h##g, i##g);
#define TRANSPOSE_PAIRS(half, x, y) _mm512_castpd_ps(_mm512_unpack##half##_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)))
// TRANSPOSE_OUT stores elements j, 4 + j, 8 + j and 12 + j of all rows.
#define TRANSPOSE_OUT(j)                                                                                     \
    {                                                                                                        \
        const __m512 s = _mm512_shuffle_f32x4(b0##j, b1##j, 0x88), t = _mm512_shuffle_f32x4(b2##j, b3##j, 0x88); \
        const __m512 u = _mm512_shuffle_f32x4(b0##j, b1##j, 0xdd), v = _mm512_shuffle_f32x4(b2##j, b3##j, 0xdd); \
        TRANSPOSE_STORE(j, _mm512_shuffle_f32x4(s, t, 0x88))                                                 \
        TRANSPOSE_STORE(4 + j, _mm512_shuffle_f32x4(u, v, 0x88))                                             \
        TRANSPOSE_STORE(8 + j, _mm512_shuffle_f32x4(s, t, 0xdd))                                             \
        TRANSPOSE_STORE(12 + j, _mm512_shuffle_f32x4(u, v, 0xdd))                                            \
    }
// TRANSPOSE_STORE stores full vectors without a mask, so that later loads can be forwarded.
#define TRANSPOSE_STORE(i, x)                              \
    if (whole) {                                           \
        _mm512_storeu_ps(dst + (i) * width, x);            \
    } else if ((i) < k) {                                  \
        _mm512_mask_storeu_ps(dst + (i) * width, to, x);   \
    }

// nacre_transpose_16 transposes the first k <= 16 elements of lanes <= 16 rows. Both are 16 if
// whole.
NACRE_INLINE void nacre_transpose_16(int whole, size_t k, size_t lanes, const float *src, size_t lane, size_t width,
                                     float *dst) {
    const __mmask16 from = (__mmask16)((1u << k) - 1), to = (__mmask16)((1u << lanes) - 1);
#define TRANSPOSE_LOAD(i) const __m512 r##i = whole ? _mm512_loadu_ps(src + (i) * lane) : (i) < lanes ? _mm512_maskz_loadu_ps(from, src + (i) * lane) : _mm512_setzero_ps();
    TRANSPOSE_ROWS(TRANSPOSE_LOAD)
#undef TRANSPOSE_LOAD
    TRANSPOSE_FOUR(0, r0, r1, r2, r3)
    TRANSPOSE_FOUR(1, r4, r5, r6, r7)
    TRANSPOSE_FOUR(2, r8, r9, r10, r11)
    TRANSPOSE_FOUR(3, r12, r13, r14, r15)
    TRANSPOSE_OUT(0)
    TRANSPOSE_OUT(1)
    TRANSPOSE_OUT(2)
    TRANSPOSE_OUT(3)
}

static inline void nacre_transpose__avx512(size_t k, size_t lanes, const float *src, size_t lane, size_t width,
                                           float *dst) {
    for (size_t p = 0; p < k; p += 16) {
        for (size_t l = 0; l < lanes; l += 16) {
            const float *const from = src + l * lane + p;
            float *const to = dst + p * width + l;
            if (k - p >= 16 && lanes - l >= 16) {
                nacre_transpose_16(1, 16, 16, from, lane, width, to);
            } else {
                nacre_transpose_16(0, k - p < 16 ? k - p : 16, lanes - l < 16 ? lanes - l : 16, from, lane, width, to);
            }
        }
    }
}

#undef TRANSPOSE_ROWS
#undef TRANSPOSE_FOUR
#undef TRANSPOSE_PAIRS
#undef TRANSPOSE_OUT
#undef TRANSPOSE_STORE

#endif
