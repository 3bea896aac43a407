// The variants of i8_lookup for each level.
#include "core/arm.h"
#include "core/x86.h"
#include "quant/quant.h"

// A table as 128 words, which a permutation of two registers finds 64 of at a time; the
// lowest bit of a code says which half of its word is meant.
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

// A table as 16 parts of 16 bytes: a shuffle picks from a part where the upper half of
// a code is the part's number, and 0 elsewhere.
#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

void nacre_i8_lookup__avx2(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    __m256i parts[16];
    for (int h = 0; h < 16; h++) parts[h] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * h)));
    const __m256i beyond = _mm256_set1_epi8(0x70);  // sets the highest bit of what is 16 or more
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i code = _mm256_loadu_si256((const __m256i *)(x + i));
        __m256i found = _mm256_setzero_si256();
        for (int h = 0; h < 16; h++) {
            const __m256i at = _mm256_adds_epu8(_mm256_xor_si256(code, _mm256_set1_epi8((char)(h << 4))), beyond);
            found = _mm256_or_si256(found, _mm256_shuffle_epi8(parts[h], at));
        }
        _mm256_storeu_si256((__m256i *)(y + i), found);
    }
    for (; i < n; i++) y[i] = table[x[i]];
}

NACRE_TARGET_END
#endif

// A table as four parts of 64 bytes, each of which leaves what lies outside as it is.
#if NACRE_AARCH64

void nacre_i8_lookup__neon(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    uint8x16x4_t parts[4];
    for (int h = 0; h < 4; h++) parts[h] = vld1q_u8_x4(table + 64 * h);
    const uint8x16_t part = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t at = vld1q_u8(x + i), found = vqtbl4q_u8(parts[0], at);
        for (int h = 1; h < 4; h++) {
            at = vsubq_u8(at, part);
            found = vqtbx4q_u8(found, parts[h], at);
        }
        vst1q_u8(y + i, found);
    }
    for (; i < n; i++) y[i] = table[x[i]];
}

#endif
