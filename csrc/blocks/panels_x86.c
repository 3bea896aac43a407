// The variants of f32_block_panels and i8_block_panels for 64-bit x86.
#include "blocks/forms.h"
#include "core/simd.h"
#include "core/vec_avx2.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64

// ---- AVX-512 ----

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_LANES_avx512)
#define LANES_N NACRE_LANES_avx512
#define V(name) nacre_avx512_##name
#define K(name) f32_panels_##name##_avx512
#define WIDENED(p) ((W)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p))))
#define LOOKUP(t, v) ((W)_mm512_shuffle_epi8((__m512i)(t), (__m512i)(v)))
#define TABLES 1
#define NUMBER(t, v) _mm512_permutex2var_ps((t).low, (__m512i)(v), (t).high)
#define SIXTEEN(t, v) _mm512_permutexvar_ps((__m512i)(v), t)
#define FAR 4096

NACRE_TARGET_BEGIN(NACRE_AVX512)

#define SIZES(X) X(8) X(4) X(1)
#define MOST 8
#include "blocks/panels_slab.inc"

#include "blocks/panels_f32.inc"
#undef SIZES
#undef MOST

const nacre_block_panels_impl *nacre_f32_block_panels__avx512(void) { return &K(impl); }

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_AVX512VNNI)

#define R(name) i8_panels_##name##_avx512vnni
#define SIZES(X) X(12) X(4) X(1)
#define MOST 12
#define CENTRED(f) 0
#define WIDES 0
#define DOT(d, v, q, wide) ((W)_mm512_dpbusd_epi32((__m512i)(d), (__m512i)(v), (__m512i)(q)))
#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__avx512vnni(void) { return &R(impl); }

NACRE_TARGET_END

#include "blocks/panels_undef.h"

// ---- AVX2 ----

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_LANES_avx2)
#define LANES_N NACRE_LANES_avx2
#define V(name) nacre_avx2_##name
#define K(name) f32_panels_##name##_avx2
#define WIDENED(p) ((W)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define LOOKUP(t, v) ((W)_mm256_shuffle_epi8((__m256i)(t), (__m256i)(v)))
#define TABLES 0
#define NUMBER(t, v) (t).low
#define FAR 4096
#define SIZES(X) X(4) X(1)
#define MOST 4

NACRE_TARGET_BEGIN(NACRE_AVX2)

#include "blocks/panels_slab.inc"

#include "blocks/panels_f32.inc"

const nacre_block_panels_impl *nacre_f32_block_panels__avx2(void) { return &K(impl); }

// Products of bytes are added in pairs with saturation at 16 bits. The sign of a wide code is moved
// to the other factor: 2*128*127 does not saturate.
#define R(name) i8_panels_##name##_avx2
#define CENTRED(f) nacre_block_wide(f)
#define WIDES 1
#define DOT(d, v, q, wide) R(multiply)(d, (__m256i)(v), (__m256i)(q), wide)

NACRE_INLINE W R(multiply)(W d, __m256i v, __m256i q, int wide) {
    const __m256i pairs = wide ? _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(q, v)) : _mm256_maddubs_epi16(v, q);
    return d + (W)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__avx2(void) { return &R(impl); }

NACRE_TARGET_END

#endif
