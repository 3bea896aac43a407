// The variants of f32_nbits for 64-bit x86.
#include <string.h>

#include "core/vec_avx2.h"
#include "core/vec_avx512.h"
#include "nbits/nbits.h"

#if NACRE_X86_64

// ---- AVX-512 ----

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define LANES_N NACRE_LANES_avx512
#define V(name) nacre_avx512_##name
#define I __m512i
#define WORDS(p) _mm512_loadu_si512(p)
#define WIDENED(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define PERMUTED(v, index) _mm512_permutexvar_ps(index, v)

// A permutation of 16 floats by the low four bits of each lane decodes codes by a table; it needs
// no mask.
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define K(name) f32_nbits_##name##_avx512
#define WIDE_COLS 4
#define SAME(word) _mm512_set1_epi32((int)(word))
#define T __m512
#define CENTRED(v, bits) ((bits) == 8 ? _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80)) : (v))
#define TOP(v, bits) K(top)(v, bits)
#define ENTRY(v, t) _mm512_permutexvar_ps(NEXT(v, 4), t)
#define NEXT(v, bits) _mm512_rolv_epi32(v, _mm512_set1_epi32((int)(bits)))
#define TABLE(p) K(table)(p)
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

// ---- AVX2 ----

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define LANES_N NACRE_LANES_avx2
#define V(name) nacre_avx2_##name
#define I __m256i
#define WORDS(p) _mm256_loadu_si256((const __m256i *)(p))
#define WIDENED(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define PERMUTED(v, index) _mm256_permutevar8x32_ps(v, index)

NACRE_TARGET_BEGIN(NACRE_AVX2)

#define K(name) f32_nbits_##name##_avx2
#define WIDE_COLS 1
#define SAME(word) _mm256_set1_epi32((int)(word))
#define T f32_nbits_table_avx2
#define CENTRED(v, bits) _mm256_xor_si256(v, _mm256_set1_epi8((char)((bits) == 8 ? 0x80 : (bits) == 4 ? 0x88 : 0xaa)))
#define TOP(v, bits) _mm256_cvtepi32_ps(_mm256_srai_epi32(v, 32 - (int)(bits)))
#define ENTRY(v, t) K(entry)(v, t)
#define NEXT(v, bits) _mm256_slli_epi32(v, (int)(bits))
#define TABLE(p) K(load_table)(p)
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
