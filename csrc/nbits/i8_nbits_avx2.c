// Products of bytes are added in pairs with saturation at 16 bits. Codes of 8 bits
// are centred, and give their sign to the other factor: 2*128*127 is within them.
#include <string.h>

#include "core/vec_avx2.h"
#include "nbits/nbits.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define LANES_N NACRE_LANES_avx2
#define V(name) nacre_avx2_##name
#define K(name) i8_nbits_##name##_avx2
#define WIDE_COLS 2
#define I __m256i
#define WORDS(p) _mm256_loadu_si256((const __m256i *)(p))
#define SAME(word) _mm256_set1_epi32((int)(word))
#define WIDENED(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define SPREAD(v, index) _mm256_permutevar8x32_ps(v, index)
#define SELF(bits) ((bits) == 8)
#define CENTRED(v) _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80))
#define LOWEST(v, bits) ((bits) == 8 ? (v) : _mm256_and_si256(v, _mm256_set1_epi8((char)((1u << (bits)) - 1))))
#define NEXT(v, bits) _mm256_srli_epi32(v, (int)(bits))
#define DOT(d, v, q, bits) K(multiply)(d, v, _mm256_loadu_si256((const __m256i *)(q)), (bits) == 8)
#define FLOATS(v) _mm256_cvtepi32_ps(v)

NACRE_INLINE __m256i K(multiply)(__m256i d, __m256i v, __m256i q, int sign) {
    const __m256i pairs = sign ? _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(q, v)) : _mm256_maddubs_epi16(v, q);
    return _mm256_add_epi32(d, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

#include "nbits/i8_nbits.inc"

const nacre_i8_nbits_impl *nacre_i8_nbits__avx2(void) { return &K(impl); }

NACRE_TARGET_END
#include "nbits/i8_nbits_undef.h"
#endif
