// A table as 128 words, which a permutation of two registers finds 64 of at a time; the
// lowest bit of a code says which half of its word is meant.
#include "core/x86.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

// The words of codes in the lower bytes of words; the codes that `upper` has are 128 or
// more.
static inline __m512i i8_lookup_words_avx512(const __m512i *words, __m512i code, __mmask32 upper) {
    const __m512i at = _mm512_srli_epi16(code, 1);
    return _mm512_mask_blend_epi16(upper, _mm512_permutex2var_epi16(words[0], at, words[1]),
                                   _mm512_permutex2var_epi16(words[2], at, words[3]));
}

static inline __m512i i8_lookup_codes_avx512(const __m512i *words, __m512i x) {
    const __m512i low = _mm512_set1_epi16(0xff), bit = _mm512_set1_epi16(1);
    const __m512i even = _mm512_and_si512(x, low), odd = _mm512_srli_epi16(x, 8);
    const __m512i a = i8_lookup_words_avx512(words, even, _mm512_test_epi16_mask(x, _mm512_set1_epi16(0x80)));
    const __m512i b = i8_lookup_words_avx512(words, odd, _mm512_movepi16_mask(x));
    const __m512i down = _mm512_slli_epi16(_mm512_and_si512(even, bit), 3), up = _mm512_slli_epi16(_mm512_andnot_si512(odd, bit), 3);
    const __m512i lower = _mm512_srlv_epi16(a, down), higher = _mm512_sllv_epi16(b, up);
    return _mm512_or_si512(_mm512_and_si512(low, lower), _mm512_andnot_si512(low, higher));
}

void nacre_i8_lookup__avx512(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    __m512i words[4];
    for (size_t h = 0; h < 4; h++) words[h] = _mm512_loadu_si512(table + 64 * h);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) _mm512_storeu_si512(y + i, i8_lookup_codes_avx512(words, _mm512_loadu_si512(x + i)));
    if (i < n) {
        const __mmask64 rest = (__mmask64)-1 >> (64 - (n - i));
        _mm512_mask_storeu_epi8(y + i, rest, i8_lookup_codes_avx512(words, _mm512_maskz_loadu_epi8(rest, x + i)));
    }
}

NACRE_TARGET_END
#endif
