#include <string.h>

#include "core/vec_avx2.h"
#include "nbits/nbits.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define LANES_N NACRE_LANES_avx2
#define V(name) nacre_avx2_##name
#define K(name) f32_nbits_##name##_avx2
#define WIDE_COLS 1
#define I __m256i
#define T f32_nbits_table_avx2
#define WORDS(p) _mm256_loadu_si256((const __m256i *)(p))
#define SAME(word) _mm256_set1_epi32((int)(word))
#define CENTRED(v, bits) _mm256_xor_si256(v, _mm256_set1_epi8((char)((bits) == 8 ? 0x80 : (bits) == 4 ? 0x88 : 0xaa)))
#define TOP(v, bits) _mm256_cvtepi32_ps(_mm256_srai_epi32(v, 32 - (int)(bits)))
#define ENTRY(v, t) K(entry)(v, t)
#define NEXT(v, bits) _mm256_slli_epi32(v, (int)(bits))
#define TABLE(p) K(load_table)(p)
#define WIDENED(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define SPREAD(v, index) _mm256_permutevar8x32_ps(v, index)
#define GATHER(p, offsets) _mm256_i32gather_epi32((const int *)(p), _mm256_loadu_si256((const __m256i *)(offsets)), 1)

typedef struct {
    __m256 low, high;
} T;

NACRE_INLINE T K(load_table)(const float *p) {
    const __m256 zero = _mm256_setzero_ps();
    return p == NULL ? (T){zero, zero} : (T){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

NACRE_INLINE __m256 K(entry)(__m256i v, T t) {
    const __m256i index = _mm256_srli_epi32(v, 28);
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t.low, index), _mm256_permutevar8x32_ps(t.high, index), _mm256_castsi256_ps(v));
}

#include "nbits/f32_nbits.inc"

const nacre_f32_nbits_impl *nacre_f32_nbits__avx2(void) { return &K(impl); }

NACRE_TARGET_END
#include "nbits/f32_nbits_undef.h"
#endif
