// A permutation of 16 floats by the low four bits of each lane is a table of what
// codes stand for; it needs no mask.
#include <string.h>

#include "core/vec_avx512.h"
#include "nbits/nbits.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define LANES_N NACRE_LANES_avx512
#define V(name) nacre_avx512_##name
#define K(name) f32_nbits_##name##_avx512
#define WIDE_COLS 4
#define I __m512i
#define T __m512
#define WORDS(p) _mm512_loadu_si512(p)
#define SAME(word) _mm512_set1_epi32((int)(word))
#define CENTRED(v, bits) ((bits) == 8 ? _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80)) : (v))
#define TOP(v, bits) K(top)(v, bits)
#define ENTRY(v, t) _mm512_permutexvar_ps(NEXT(v, 4), t)
#define NEXT(v, bits) _mm512_rolv_epi32(v, _mm512_set1_epi32((int)(bits)))
#define TABLE(p) K(table)(p)
#define WIDENED(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define SPREAD(v, index) _mm512_permutexvar_ps(index, v)
#define GATHER(p, offsets) _mm512_i32gather_epi32(_mm512_loadu_si512(offsets), p, 1)

NACRE_INLINE __m512 K(table)(const float *p) { return p == NULL ? _mm512_setzero_ps() : _mm512_loadu_ps(p); }

NACRE_INLINE __m512 K(top)(__m512i v, size_t bits) {
    if (bits == 8) return _mm512_cvtepi32_ps(_mm512_srav_epi32(v, _mm512_set1_epi32(24)));
    const __m512 four = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m512 two = _mm512_setr_ps(-2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1);
    return _mm512_permutexvar_ps(NEXT(v, bits), bits == 4 ? four : two);
}

#include "nbits/f32_nbits.inc"

const nacre_f32_nbits_impl *nacre_f32_nbits__avx512(void) { return &K(impl); }

NACRE_TARGET_END
#include "nbits/f32_nbits_undef.h"
#endif
