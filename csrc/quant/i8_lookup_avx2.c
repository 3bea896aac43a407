// A table as 16 parts of 16 bytes: a shuffle picks from a part where the upper half of
// a code is the part's number, and 0 elsewhere.
#include "core/x86.h"
#include "quant/quant.h"

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
