// Conversions of 16-bit floats and of codes with AVX2. Include outside any target region.
#ifndef NACRE_HALF_HALF_AVX2_H
#define NACRE_HALF_HALF_AVX2_H

#include "core/simd.h"
#include "core/x86.h"
#include "half/half.h"
#include "half/half_scalar.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

static inline void nacre_f16_to_f32__avx2(const void *px, void *py, size_t n) {
    const uint16_t *x = px;
    float *y = py;
    for (; n >= 8; n -= 8, x += 8, y += 8) _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const void *)x)));
    for (size_t i = 0; i < n; i++) y[i] = _cvtsh_ss(x[i]);
}

static inline void nacre_f32_to_f16__avx2(const void *px, void *py, size_t n) {
    const float *x = px;
    uint16_t *y = py;
    for (; n >= 8; n -= 8, x += 8, y += 8) {
        _mm_storeu_si128((void *)y, _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    for (size_t i = 0; i < n; i++) y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline void nacre_bf16_to_f32__avx2(const void *px, void *py, size_t n) {
    const uint16_t *x = px;
    float *y = py;
    for (; n >= 8; n -= 8, x += 8, y += 8) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)x));
        _mm256_storeu_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
    }
    NACRE_SIMD for (size_t i = 0; i < n; i++) y[i] =
        _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)((uint32_t)x[i] << 16))));
}

// half_narrow_bf16_8 rounds 8 floats to bfloat16: it adds half of the last place kept, with the bit
// that breaks ties to even, and takes the upper 16 bits. A NaN keeps its upper 16 bits and becomes
// quiet.
static inline __m128i half_narrow_bf16_8(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v), one = _mm256_set1_epi32(1);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(near, quiet, nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}

static inline void nacre_f32_to_bf16__avx2(const void *px, void *py, size_t n) {
    const float *x = px;
    uint16_t *y = py;
    for (; n >= 8; n -= 8, x += 8, y += 8) _mm_storeu_si128((void *)y, half_narrow_bf16_8(_mm256_loadu_ps(x)));
    if (n == 0) return;
    float rest[8] = {0};
    uint16_t last[8];
    for (size_t i = 0; i < n; i++) rest[i] = x[i];
    _mm_storeu_si128((void *)last, half_narrow_bf16_8(_mm256_loadu_ps(rest)));
    for (size_t i = 0; i < n; i++) y[i] = last[i];
}

static inline void nacre_codes_to_f32__avx2(const int8_t *x, float scale, float *y, size_t n) {
    const __m256 by = _mm256_set1_ps(scale);
    for (; n >= 8; n -= 8, x += 8, y += 8) {
        const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)x));
        _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_cvtepi32_ps(wide), by));
    }
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

static inline float nacre_f32_to_codes__avx2(const float *src, int8_t *dst, size_t n) {
    if (n < 8) return nacre_f32_to_codes__scalar(src, dst, n);
    const __m256i sign = _mm256_set1_epi32(0x7fffffff);
    // The last vector overlaps the one before it.
    __m256i t = _mm256_and_si256(_mm256_loadu_si256((const void *)(src + n - 8)), sign);
    for (size_t i = 0; i + 8 <= n; i += 8) {
        t = _mm256_max_epu32(t, _mm256_and_si256(_mm256_loadu_si256((const void *)(src + i)), sign));
    }
    __m128i u = _mm_max_epu32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));
    u = _mm_max_epu32(u, _mm_shuffle_epi32(u, 0x4e));
    u = _mm_max_epu32(u, _mm_shuffle_epi32(u, 0xb1));
    const float scale = nacre_half_scale((uint32_t)_mm_cvtsi128_si32(u));
    if (!(scale > 0)) {
        memset(dst, 0, n);
        return scale;
    }
    const __m256 by = _mm256_set1_ps(scale), most = _mm256_set1_ps(127), least = _mm256_set1_ps(-127);
    for (size_t i = 0; i < n; i += 8) {
        const size_t at = i + 8 <= n ? i : n - 8;
        const __m256 x = _mm256_div_ps(_mm256_loadu_ps(src + at), by);
        const __m256i c = _mm256_cvtps_epi32(_mm256_max_ps(_mm256_min_ps(x, most), least));
        const __m128i s = _mm_packs_epi32(_mm256_castsi256_si128(c), _mm256_extracti128_si256(c, 1));
        _mm_storel_epi64((void *)(dst + at), _mm_packs_epi16(s, s));
    }
    return scale;
}

NACRE_HALF_CODE(avx2)
NACRE_HALF_DECODE(avx2)

static inline const nacre_half *nacre_half__avx2(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__avx2, nacre_bf16_to_f32__avx2),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__avx2, nacre_f32_to_bf16__avx2),
        .code = nacre_code__avx2,
        .decode = nacre_decode__avx2,
    };
    return &table;
}

NACRE_TARGET_END
#endif

#endif
