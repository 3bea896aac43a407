// Arithmetic of 16-bit floats in vectors: products of bfloat16 with AVX512-BF16; float16 with
// AVX512-FP16, if the compiler knows it (NACRE_AVX512FP16 of core/target.h), or with the
// half-precision arithmetic of 64-bit ARM. The instructions are written in assembler, so that the
// file needs no compiler flag for them. Include outside any target region.
//
// If there is float16 arithmetic, NACRE_F16_LEVEL is the level's name, NACRE_F16_BEGIN and
// NACRE_F16_END are its target region, nacre_f16 is a vector of NACRE_F16_LANES numbers, and
// nacre_f16_mask is the result of a comparison. These functions have the prefix nacre_f16_:
//     load store set     lanes at p; set: all lanes of the same bits
//     and xor            of bits
//     add sub mul div sqrt
//     rint floor ceil    rint rounds ties to even
//     eq gt ge           false for a NaN
//     pick(m, a, b)      a in lanes where m is true, else b
//     store_tests        m as bytes 0 and 1
#ifndef NACRE_CORE_HALF_VEC_H
#define NACRE_CORE_HALF_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/arm.h"
#include "core/vec.h"
#include "core/x86.h"

#if NACRE_X86_64

NACRE_TARGET_BEGIN(NACRE_AVX512)

#ifdef NACRE_EMULATED
#include "core/half_vec_emulated.h"
#else

// nacre_bf16_add_products adds two products to each sum, of its pairs of bfloat16 in a and b, one
// after the other. Each product is added with one rounding. Subnormal operands and sums become
// zeros.
NACRE_INLINE void nacre_bf16_add_products(__m512 *sum, __m512i a, __m512i b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}
#endif

#if NACRE_AVX512FP16
#define NACRE_F16_LEVEL avx512fp16
#define NACRE_F16_BEGIN NACRE_TARGET_BEGIN(NACRE_AVX512)
#define NACRE_F16_END NACRE_TARGET_END
#define NACRE_F16_LANES 32
typedef __m512i nacre_f16;
typedef __mmask32 nacre_f16_mask;

NACRE_INLINE nacre_f16 nacre_f16_load(const uint16_t *p) { return _mm512_loadu_si512(p); }
NACRE_INLINE void nacre_f16_store(uint16_t *p, nacre_f16 a) { _mm512_storeu_si512(p, a); }
NACRE_INLINE nacre_f16 nacre_f16_set(uint16_t bits) { return _mm512_set1_epi16((short)bits); }
NACRE_INLINE nacre_f16 nacre_f16_and(nacre_f16 a, nacre_f16 b) { return _mm512_and_si512(a, b); }
NACRE_INLINE nacre_f16 nacre_f16_xor(nacre_f16 a, nacre_f16 b) { return _mm512_xor_si512(a, b); }
NACRE_INLINE nacre_f16 nacre_f16_pick(nacre_f16_mask m, nacre_f16 a, nacre_f16 b) {
    return _mm512_mask_blend_epi16(m, b, a);
}
NACRE_INLINE void nacre_f16_store_tests(uint8_t *p, nacre_f16_mask m) {
    static const uint8_t ones[NACRE_F16_LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                  1, 1, 1, 1, 1, 1, 1, 1, 1};
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_maskz_loadu_epi8(m, ones));
}

#ifndef NACRE_EMULATED
#define NACRE_F16_OF_ONE(name, text)                       \
    NACRE_INLINE nacre_f16 nacre_f16_##name(nacre_f16 a) { \
        nacre_f16 y;                                       \
        __asm__(text " %1, %0" : "=v"(y) : "v"(a));        \
        return y;                                          \
    }
#define NACRE_F16_OF_TWO(name, text)                                    \
    NACRE_INLINE nacre_f16 nacre_f16_##name(nacre_f16 a, nacre_f16 b) { \
        nacre_f16 y;                                                    \
        __asm__(text " %2, %1, %0" : "=v"(y) : "v"(a), "v"(b));         \
        return y;                                                       \
    }
#define NACRE_F16_TEST(name, text)                                           \
    NACRE_INLINE nacre_f16_mask nacre_f16_##name(nacre_f16 a, nacre_f16 b) { \
        nacre_f16_mask m;                                                    \
        __asm__(text ", %2, %1, %0" : "=k"(m) : "v"(a), "v"(b));             \
        return m;                                                            \
    }
NACRE_F16_OF_TWO(add, "vaddph")
NACRE_F16_OF_TWO(sub, "vsubph")
NACRE_F16_OF_TWO(mul, "vmulph")
NACRE_F16_OF_TWO(div, "vdivph")
NACRE_F16_OF_ONE(sqrt, "vsqrtph")
NACRE_F16_OF_ONE(rint, "vrndscaleph $8,")
NACRE_F16_OF_ONE(floor, "vrndscaleph $9,")
NACRE_F16_OF_ONE(ceil, "vrndscaleph $10,")
// These predicates are false for a NaN and raise no exception.
NACRE_F16_TEST(eq, "vcmpph $0x00")
NACRE_F16_TEST(ge, "vcmpph $0x1d")
NACRE_F16_TEST(gt, "vcmpph $0x1e")
#endif
#endif

NACRE_TARGET_END

#elif NACRE_AARCH64

#define NACRE_F16_LEVEL fp16
#define NACRE_F16_BEGIN NACRE_TARGET_BEGIN(NACRE_FP16)
#define NACRE_F16_END NACRE_TARGET_END
#define NACRE_F16_LANES 8
typedef uint16x8_t nacre_f16;
typedef uint16x8_t nacre_f16_mask;

NACRE_F16_BEGIN

NACRE_INLINE nacre_f16 nacre_f16_load(const uint16_t *p) { return vld1q_u16(p); }
NACRE_INLINE void nacre_f16_store(uint16_t *p, nacre_f16 a) { vst1q_u16(p, a); }
NACRE_INLINE nacre_f16 nacre_f16_set(uint16_t bits) { return vdupq_n_u16(bits); }
NACRE_INLINE nacre_f16 nacre_f16_and(nacre_f16 a, nacre_f16 b) { return vandq_u16(a, b); }
NACRE_INLINE nacre_f16 nacre_f16_xor(nacre_f16 a, nacre_f16 b) { return veorq_u16(a, b); }
NACRE_INLINE nacre_f16 nacre_f16_pick(nacre_f16_mask m, nacre_f16 a, nacre_f16 b) { return vbslq_u16(m, a, b); }
NACRE_INLINE void nacre_f16_store_tests(uint8_t *p, nacre_f16_mask m) {
    vst1_u8(p, vand_u8(vmovn_u16(m), vdup_n_u8(1)));
}

#define NACRE_F16_OF_ONE(name, text)                           \
    NACRE_INLINE nacre_f16 nacre_f16_##name(nacre_f16 a) {     \
        nacre_f16 y;                                           \
        __asm__(text " %0.8h, %1.8h" : "=w"(y) : "w"(a));      \
        return y;                                              \
    }
#define NACRE_F16_OF_TWO(name, text)                                         \
    NACRE_INLINE nacre_f16 nacre_f16_##name(nacre_f16 a, nacre_f16 b) {      \
        nacre_f16 y;                                                         \
        __asm__(text " %0.8h, %1.8h, %2.8h" : "=w"(y) : "w"(a), "w"(b));     \
        return y;                                                            \
    }
NACRE_F16_OF_TWO(add, "fadd")
NACRE_F16_OF_TWO(sub, "fsub")
NACRE_F16_OF_TWO(mul, "fmul")
NACRE_F16_OF_TWO(div, "fdiv")
NACRE_F16_OF_ONE(sqrt, "fsqrt")
NACRE_F16_OF_ONE(rint, "frintn")
NACRE_F16_OF_ONE(floor, "frintm")
NACRE_F16_OF_ONE(ceil, "frintp")
NACRE_F16_OF_TWO(eq, "fcmeq")
NACRE_F16_OF_TWO(ge, "fcmge")
NACRE_F16_OF_TWO(gt, "fcmgt")

NACRE_F16_END

#endif

#undef NACRE_F16_OF_ONE
#undef NACRE_F16_OF_TWO
#undef NACRE_F16_TEST

#endif
