// The variant of f32_nbits for 64-bit ARM.
#include <string.h>

#include "core/vec_neon.h"
#include "nbits/nbits.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define LANES_N NACRE_LANES_neon
#define V(name) nacre_neon_##name
#define I int32x4_t
#define WORDS(p) vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)(p)))
#define WIDENED(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define PERMUTED(v, index) nbits_permuted_neon(v, index)

NACRE_INLINE float32x4_t nbits_permuted_neon(float32x4_t v, int32x4_t index) {
    float from[4];
    int32_t at[4];
    vst1q_f32(from, v);
    vst1q_s32(at, index);
    return nacre_neon_gather(from, at);
}

typedef const float *neon_table;

#define K(name) f32_nbits_##name##_neon
#define WIDE_COLS 4
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

#endif
