// The variants of f32_block_panels and i8_block_panels for 64-bit ARM.
#include "blocks/forms.h"
#include "core/simd.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define LANES_N NACRE_LANES_neon
#define V(name) nacre_neon_##name
#define K(name) f32_panels_##name##_neon
#define WIDENED(p) ((W)panels_widened_neon(p))
#define LOOKUP(t, v) ((W)vqtbl1q_u8((uint8x16_t)(t), (uint8x16_t)(v)))
#define TABLES 0
#define NUMBER(t, v) (t).low
#define SIXTEEN(t, v) (t)
#define FAR 1024
#define SIZES(X) X(8) X(4) X(1)
#define MOST 8

NACRE_INLINE uint32x4_t panels_widened_neon(const uint8_t *p) {
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
}

#include "blocks/panels_slab.inc"

#include "blocks/panels_f32.inc"

const nacre_block_panels_impl *nacre_f32_block_panels__neon(void) { return &K(impl); }

#define CENTRED(f) 1
#define WIDES 0
#define R(name) i8_panels_##name##_neon
#define DOT(d, v, q, wide) R(multiply)(d, (int8x16_t)(v), (int8x16_t)(q))

NACRE_INLINE W R(multiply)(W d, int8x16_t v, int8x16_t q) {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(v), vget_low_s8(q)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(v), vget_high_s8(q)));
    return d + (W)vpaddq_s32(low, high);
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__neon(void) { return &R(impl); }

#undef R
#define R(name) i8_panels_##name##_dotprod

NACRE_TARGET_BEGIN(NACRE_DOTPROD)

// Compilers offer the intrinsic only if flags of the whole file allow it.
NACRE_INLINE W R(multiply)(W d, int8x16_t v, int8x16_t q) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(d) : "w"(v), "w"(q));
    return d;
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__dotprod(void) { return &R(impl); }

NACRE_TARGET_END
#endif
