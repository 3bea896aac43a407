// The product of bytes takes codes as they are, without a sign, on the left.
#include <string.h>

#include "core/vec_avx512.h"
#include "nbits/nbits.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512VNNI)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define LANES_N NACRE_LANES_avx512
#define V(name) nacre_avx512_##name
#define K(name) i8_nbits_##name##_avx512vnni
#define WIDE_COLS 4
#define I __m512i
#define WORDS(p) _mm512_loadu_si512(p)
#define SAME(word) _mm512_set1_epi32((int)(word))
#define WIDENED(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define SPREAD(v, index) _mm512_permutexvar_ps(index, v)
#define SELF(bits) 0
#define CENTRED(v) (v)
#define LOWEST(v, bits) ((bits) == 8 ? (v) : _mm512_and_si512(v, _mm512_set1_epi8((char)((1u << (bits)) - 1))))
#define NEXT(v, bits) _mm512_srlv_epi32(v, _mm512_set1_epi32((int)(bits)))
#define DOT(d, v, q, bits) _mm512_dpbusd_epi32(d, v, _mm512_loadu_si512(q))
#define FLOATS(v) _mm512_cvtepi32_ps(v)

#include "nbits/i8_nbits.inc"

const nacre_i8_nbits_impl *nacre_i8_nbits__avx512vnni(void) { return &K(impl); }

NACRE_TARGET_END
#include "nbits/i8_nbits_undef.h"
#endif
