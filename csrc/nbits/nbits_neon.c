// The variants of f32_nbits and i8_nbits for 64-bit ARM.
#include <string.h>

#include "core/vec_neon.h"
#include "nbits/panels.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define LANES_N NACRE_LANES_neon
#define V(name) nacre_neon_##name
#define I int32x4_t
#define WORDS(p) vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)(p)))
#define BYTES(p) nbits_bytes_neon(p)
#define WIDENED(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define PERMUTED(v, index) nbits_permuted_neon(v, index)

NACRE_INLINE float32x4_t nbits_permuted_neon(float32x4_t v, int32x4_t index) {
    float from[4];
    int32_t at[4];
    vst1q_f32(from, v);
    vst1q_s32(at, index);
    return nacre_neon_gather(from, at);
}

NACRE_INLINE float32x4_t nbits_bytes_neon(const uint8_t *p) {
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
}

typedef const float *neon_table;

#define K(name) f32_nbits_##name##_neon
#define WIDE_COLS 4
#define SIZES(X) X(8) X(4) X(1)
#define MOST 8
#define SAME(word) vdupq_n_s32((int32_t)(word))
#define T neon_table
#define CENTRED(v, bits) veorq_s32(v, vreinterpretq_s32_u8(vdupq_n_u8((bits) == 8 ? 0x80 : (bits) == 4 ? 0x88 : 0xaa)))
#define TOP(v, bits) vcvtq_f32_s32(vshlq_s32(v, vdupq_n_s32((int32_t)(bits)-32)))
#define ENTRY(v, t) K(entry)(v, t)
#define NEXT(v, bits) vshlq_s32(v, vdupq_n_s32((int32_t)(bits)))
#define TABLE(p) (p)
#define GATHER(p, offsets) K(words_at)(p, offsets)

NACRE_INLINE float32x4_t K(entry)(int32x4_t v, const float *t) {
    int32_t index[4];
    vst1q_s32(index, vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), vdupq_n_s32(-28))));
    return nacre_neon_gather(t, index);
}

NACRE_INLINE int32x4_t K(words_at)(const uint8_t *p, const int32_t *offsets) {
    uint32_t words[4];
    for (size_t l = 0; l < 4; l++) memcpy(&words[l], p + offsets[l], sizeof words[l]);
    return WORDS(words);
}

#include "nbits/f32_nbits.inc"

const nacre_f32_nbits_impl *nacre_f32_nbits__neon(void) { return &K(impl); }

#include "nbits/f32_nbits_undef.h"

#define SIZES(X) X(8) X(4) X(1)
#define MOST 8
#define SAME(p) nbits_same_neon(p)
#define ZERO() vdupq_n_s32(0)
#define SELF(bits) ((bits) == 8)
#define CENTRED(v) veorq_s32(v, vreinterpretq_s32_u8(vdupq_n_u8(0x80)))
#define LOWEST(v, bits) ((bits) == 8 ? (v) : vandq_s32(v, vreinterpretq_s32_u8(vdupq_n_u8((uint8_t)((1u << (bits)) - 1)))))
#define NEXT(v, bits) vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), vdupq_n_s32(-(int32_t)(bits))))
#define DOT(d, v, q, bits) K(multiply)(d, vreinterpretq_s8_s32(v), vreinterpretq_s8_s32(q))
#define FLOATS(v) vcvtq_f32_s32(v)
#define SHIFTED(v) vshlq_n_s32(vcvtq_s32_f32(v), 7)
#define K(name) i8_nbits_##name##_neon

NACRE_INLINE int32x4_t nbits_same_neon(const void *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return vdupq_n_s32(word);
}

NACRE_INLINE int32x4_t K(multiply)(int32x4_t d, int8x16_t v, int8x16_t q) {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(v), vget_low_s8(q)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(v), vget_high_s8(q)));
    return vaddq_s32(d, vpaddq_s32(low, high));
}

#include "nbits/i8_panels.inc"

const nacre_i8_nbits_impl *nacre_i8_nbits__neon(void) { return &K(impl); }

#undef K
#define K(name) i8_nbits_##name##_dotprod

NACRE_TARGET_BEGIN(NACRE_DOTPROD)

// Compilers offer the intrinsic only if flags of the whole file allow it.
NACRE_INLINE int32x4_t K(multiply)(int32x4_t d, int8x16_t v, int8x16_t q) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(d) : "w"(v), "w"(q));
    return d;
}

#include "nbits/i8_panels.inc"

const nacre_i8_nbits_impl *nacre_i8_nbits__dotprod(void) { return &K(impl); }

NACRE_TARGET_END
#endif
