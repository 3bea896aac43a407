// Masks of lanes of 64-bit x86, for f32_im2col_x86.inc. To be included outside any target region.
//     conv_mask__<level>          a set of lanes
//     between(begin, end)         lanes begin..end-1 that are in the vector
//     even(m)                     the lanes of m with even numbers
//     of(flags)                   the lanes with a flag of -1, not 0
//     load(v, m, p)               v with the lanes of m, which are zero in v, taken from p
//     gather(m, p, index)         p[index[i]] in the lanes of m, else zeros
#ifndef NACRE_CONV_MASK_X86_H
#define NACRE_CONV_MASK_X86_H

#include "core/vec.h"
#include "core/x86.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

typedef __mmask16 conv_mask__avx512;

NACRE_INLINE uint32_t conv_mask_below__avx512(int n) { return n <= 0 ? 0 : n >= 16 ? 0xffff : (1u << n) - 1; }
NACRE_INLINE __mmask16 conv_mask_between__avx512(int begin, int end) {
    return (__mmask16)(conv_mask_below__avx512(end) & ~conv_mask_below__avx512(begin));
}
NACRE_INLINE __mmask16 conv_mask_even__avx512(__mmask16 m) { return m & 0x5555; }
NACRE_INLINE __mmask16 conv_mask_of__avx512(const int32_t *flags) {
    const __m512i v = _mm512_loadu_si512(flags);
    return _mm512_test_epi32_mask(v, v);
}
NACRE_INLINE __m512 conv_mask_load__avx512(__m512 v, __mmask16 m, const float *p) {
    return _mm512_mask_loadu_ps(v, m, p);
}
NACRE_INLINE __m512 conv_mask_gather__avx512(__mmask16 m, const float *p, const int32_t *index) {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, _mm512_loadu_si512(index), p, 4);
}

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_AVX2)

typedef __m256i conv_mask__avx2;

NACRE_INLINE __m256i conv_mask_between__avx2(int begin, int end) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
}
NACRE_INLINE __m256i conv_mask_even__avx2(__m256i m) {
    return _mm256_and_si256(m, _mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0));
}
NACRE_INLINE __m256i conv_mask_of__avx2(const int32_t *flags) { return _mm256_loadu_si256((const __m256i *)flags); }
NACRE_INLINE __m256 conv_mask_load__avx2(__m256 v, __m256i m, const float *p) {
    return _mm256_or_ps(v, _mm256_maskload_ps(p, m));
}
NACRE_INLINE __m256 conv_mask_gather__avx2(__m256i m, const float *p, const int32_t *index) {
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, _mm256_loadu_si256((const __m256i *)index),
                                    _mm256_castsi256_ps(m), 4);
}

NACRE_TARGET_END
#endif

#endif
