// The variants of the family for 64-bit x86.
#include "blocks/unpack.h"
#include "core/vec_avx2.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64

// Returns 4 bytes, followed by zeros.
#define AT4(p) _mm_cvtsi32_si128((int)block_u32((const uint8_t *)(p)))

// ---- AVX-512 ----

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define V(name) nacre_avx512_##name
#define K(name) f32_blocks_##name##_avx512

NACRE_TARGET_BEGIN(NACRE_AVX512)

#define WIDE(q) _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q))
#define PUT(y, q, d) _mm512_storeu_ps(y, _mm512_mul_ps(WIDE(q), _mm512_set1_ps(d)))
#define PUT_ADD(y, q, d, m) _mm512_storeu_ps(y, _mm512_add_ps(_mm512_mul_ps(WIDE(q), _mm512_set1_ps(d)), _mm512_set1_ps(m)))
#define PUT_SHIFTED(y, q, e, d) _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_add_ps(WIDE(q), _mm512_set1_ps(e)), _mm512_set1_ps(d)))

#include "blocks/f32_blocks.inc"
#include "blocks/unpack_x86.inc"

const nacre_f32_blocks_impl *nacre_f32_blocks__avx512(void) { return &K(impl); }

NACRE_TARGET_END

#undef F
#undef LANES
#undef V
#undef K
#undef WIDE
#undef PUT
#undef PUT_ADD
#undef PUT_SHIFTED

// ---- AVX2 ----

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define V(name) nacre_avx2_##name
#define K(name) f32_blocks_##name##_avx2

NACRE_TARGET_BEGIN(NACRE_AVX2)

#define PUT(y, q, d) K(put)(y, q, d)
#define PUT_ADD(y, q, d, m) K(put_add)(y, q, d, m)
#define PUT_SHIFTED(y, q, e, d) K(put_shifted)(y, q, e, d)

NACRE_INLINE __m256 K(wide)(__m128i q) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)); }

NACRE_INLINE void K(put)(float *y, __m128i q, float d) {
    _mm256_storeu_ps(y, _mm256_mul_ps(K(wide)(q), _mm256_set1_ps(d)));
    _mm256_storeu_ps(y + 8, _mm256_mul_ps(K(wide)(_mm_srli_si128(q, 8)), _mm256_set1_ps(d)));
}

NACRE_INLINE void K(put_add)(float *y, __m128i q, float d, float m) {
    _mm256_storeu_ps(y, _mm256_add_ps(_mm256_mul_ps(K(wide)(q), _mm256_set1_ps(d)), _mm256_set1_ps(m)));
    _mm256_storeu_ps(y + 8, _mm256_add_ps(_mm256_mul_ps(K(wide)(_mm_srli_si128(q, 8)), _mm256_set1_ps(d)), _mm256_set1_ps(m)));
}

NACRE_INLINE void K(put_shifted)(float *y, __m128i q, float e, float d) {
    _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_add_ps(K(wide)(q), _mm256_set1_ps(e)), _mm256_set1_ps(d)));
    _mm256_storeu_ps(y + 8, _mm256_mul_ps(_mm256_add_ps(K(wide)(_mm_srli_si128(q, 8)), _mm256_set1_ps(e)), _mm256_set1_ps(d)));
}

#include "blocks/f32_blocks.inc"
#include "blocks/unpack_x86.inc"

const nacre_f32_blocks_impl *nacre_f32_blocks__avx2(void) { return &K(impl); }

NACRE_TARGET_END

#undef F
#undef LANES
#undef V
#undef K

#endif

// These bodies compile here, so that the headers of intrinsics are read once.
#include "blocks/panels_x86.inc"
