// Conversions of 16-bit floats and of codes with AVX-512. Include outside any target region.
#ifndef NACRE_HALF_HALF_AVX512_H
#define NACRE_HALF_HALF_AVX512_H

#include "core/x86.h"
#include "half/half.h"
#include "half/half_avx2.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

static inline __mmask16 half_first_16(size_t n) { return (__mmask16)((1u << n) - 1); }

static inline void nacre_f16_to_f32__avx512(const void *px, void *py, size_t n) {
    const uint16_t *x = px;
    float *y = py;
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x)));
    }
    if (n > 0) {
        _mm512_mask_storeu_ps(y, half_first_16(n), _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(half_first_16(n), x)));
    }
}

static inline void nacre_f32_to_f16__avx512(const void *px, void *py, size_t n) {
    const float *x = px;
    uint16_t *y = py;
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        _mm256_storeu_si256((void *)y,
                            _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    if (n == 0) return;
    const __m256i h = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(half_first_16(n), x),
                                      _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(y, half_first_16(n), h);
}

static inline void nacre_bf16_to_f32__avx512(const void *px, void *py, size_t n) {
    const uint16_t *x = px;
    float *y = py;
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)x));
        _mm512_storeu_ps(y, _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16)));
    }
    if (n == 0) return;
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(half_first_16(n), x));
    _mm512_mask_storeu_ps(y, half_first_16(n), _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16)));
}

#include "half/transpose_avx512.h"

static inline void nacre_rows__avx512(size_t k, size_t lanes, const float *src, size_t step, size_t width, float *dst) {
    for (size_t l = 0; l < width; l += 16) {
        const __mmask16 from = half_first_16(lanes <= l ? 0 : lanes - l < 16 ? lanes - l : 16);
        const __mmask16 to = half_first_16(width - l < 16 ? width - l : 16);
        for (size_t p = 0; p < k; p++) {
            _mm512_mask_storeu_ps(dst + p * width + l, to, _mm512_maskz_loadu_ps(from, src + p * step + l));
        }
    }
}

static inline void nacre_codes_to_f32__avx512(const int8_t *x, float scale, float *y, size_t n) {
    const __m512 by = _mm512_set1_ps(scale);
    for (; n >= 16; n -= 16, x += 16, y += 16) {
        const __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)x));
        _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_cvtepi32_ps(wide), by));
    }
    if (n == 0) return;
    const __m512i wide = _mm512_cvtepi8_epi32(_mm256_castsi256_si128(_mm256_maskz_loadu_epi8(half_first_16(n), x)));
    _mm512_mask_storeu_ps(y, half_first_16(n), _mm512_mul_ps(_mm512_cvtepi32_ps(wide), by));
}

NACRE_HALF_DECODE(avx512)

static inline const nacre_half *nacre_half__avx512(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__avx512, nacre_bf16_to_f32__avx512),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__avx512, nacre_f32_to_bf16__avx2),
        .code = nacre_code__avx2,
        .decode = nacre_decode__avx512,
        .transpose = nacre_transpose__avx512,
        .rows = nacre_rows__avx512,
    };
    return &table;
}

NACRE_TARGET_END
#endif

#endif
