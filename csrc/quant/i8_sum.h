// Sums of bytes.
#ifndef NACRE_QUANT_I8_SUM_H
#define NACRE_QUANT_I8_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "core/simd.h"
#include "core/x86.h"

// Returns the sum of x[i] ^ flip as signed numbers, for i < n. flip is 0 or 128.
static inline int32_t nacre_i8_sum(size_t n, const uint8_t *x, uint8_t flip) {
    int32_t sum = 0;
    size_t i = 0;
#if NACRE_X86_64
    // The instruction adds unsigned bytes, which are 128 more.
    const __m128i flips = _mm_set1_epi8((char)(flip ^ 0x80));
    __m128i all = _mm_setzero_si128();
    for (; i + 16 <= n; i += 16) {
        const __m128i bytes = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(x + i)), flips);
        all = _mm_add_epi64(all, _mm_sad_epu8(bytes, _mm_setzero_si128()));
    }
    all = _mm_add_epi64(all, _mm_unpackhi_epi64(all, all));
    sum = (int32_t)(_mm_cvtsi128_si64(all) - (int64_t)i * 128);
#endif
    NACRE_SIMD_SUM(sum)
    for (size_t k = i; k < n; k++) sum += (int8_t)(x[k] ^ flip);
    return sum;
}

// Returns the sum of x[i] for i < n.
static inline int32_t nacre_i8_sum_unsigned(size_t n, const uint8_t *x) {
    return (int32_t)((uint32_t)nacre_i8_sum(n, x, 0x80) + 128u * (uint32_t)n);
}

#endif
