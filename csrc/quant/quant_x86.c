// The variants of i8_gemm and i8_lookup for 64-bit x86.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "core/x86.h"
#include "quant/quant.h"

#if NACRE_X86_64

// ---- i8_gemm ----

// 28 of the 32 registers are sums, two hold b, one four numbers of a row of a.
NACRE_TARGET_BEGIN(NACRE_AVX512VNNI)

#define OWN(name) i8_gemm_##name##_avx512vnni
#define FUNCTION nacre_i8_gemm_14x32__avx512vnni
#define I __m512i
#define A int8_t
#define B __m512i
#define X __m512i
#define MR 14
#define NV 2
#define LANES 16
#define GROUP 4
#define B_UNSIGNED 1
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define ZERO() _mm512_setzero_si512()
#define LOAD(b) _mm512_loadu_si512(b)
#define BROADCAST(a) i8_broadcast_avx512vnni(a)
#define STEP_OF(c, x, b) _mm512_dpbusd_epi32(c, b, x)
#define STORE(p, c) _mm512_storeu_si512(p, c)

NACRE_INLINE __m512i i8_broadcast_avx512vnni(const int8_t *a) {
    int32_t four;
    memcpy(&four, a, sizeof four);
    return _mm512_set1_epi32(four);
}

#include "quant/i8_gemm_tile.inc"

NACRE_TARGET_END

// 12 of the 16 registers are sums, two hold b, one two numbers of a row of a.
// Numbers are widened to 16 bits, of which sums of two products cannot overflow:
// products of bytes as they are would be added with saturation.
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define OWN(name) i8_gemm_##name##_avx2
#define FUNCTION nacre_i8_gemm_6x16__avx2
#define I __m256i
#define A int16_t
#define B __m256i
#define X __m256i
#define MR 6
#define NV 2
#define LANES 8
#define GROUP 2
#define B_UNSIGNED 0
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define ZERO() _mm256_setzero_si256()
#define LOAD(b) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b)))
#define BROADCAST(a) i8_broadcast_avx2(a)
#define STEP_OF(c, x, b) _mm256_add_epi32(c, _mm256_madd_epi16(x, b))
#define STORE(p, c) _mm256_storeu_si256((__m256i *)(p), c)

NACRE_INLINE __m256i i8_broadcast_avx2(const int16_t *a) {
    int32_t two;
    memcpy(&two, a, sizeof two);
    return _mm256_set1_epi32(two);
}

#include "quant/i8_gemm_tile.inc"

NACRE_TARGET_END

// ---- i8_lookup ----

// A table as 128 words, which a permutation of two registers finds 64 of at a time; the
// lowest bit of a code says which half of its word is meant.
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

// A table as 16 parts of 16 bytes: a shuffle picks from a part where the upper half of
// a code is the part's number, and 0 elsewhere.
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
