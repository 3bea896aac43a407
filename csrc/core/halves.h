// Arithmetic of 16-bit floats in vectors of 512 bits: AVX512-BF16, and AVX512-FP16 with a
// compiler that knows it (NACRE_AVX512FP16 of core/target.h). The instructions are named in
// assembler, so that a compiler needs no flag for them. To be included outside any target
// region, and used in one of AVX-512.
#ifndef NACRE_CORE_HALVES_H
#define NACRE_CORE_HALVES_H

#include "core/vec.h"
#include "core/x86.h"

#if NACRE_X86_64
#include <stddef.h>
#include <stdint.h>

// Rounding of nacre_f16_rint, nacre_f16_floor and nacre_f16_ceil, as immediates have it.
#define NACRE_F16_NEAR 8
#define NACRE_F16_DOWN 9
#define NACRE_F16_UP 10

// Comparisons of nacre_f16_<test>, all false for a NaN but the last.
#define NACRE_F16_TESTS(X) \
    X(eq, 0x00)            \
    X(lt, 0x11)            \
    X(gt, 0x1e)            \
    X(ge, 0x1d)            \
    X(nan, 0x03)

#ifdef NACRE_EMULATED
#include "core/halves_emulated.h"
#else

NACRE_TARGET_BEGIN(NACRE_AVX512)

// Adds to each sum the products of its pair of bfloat16. The sum and each product are rounded
// together, one after the other; numbers below the normal ones are zeros, sums too.
NACRE_INLINE void nacre_bf16_add_products(__m512 *sum, __m512i a, __m512i b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}

#if NACRE_AVX512FP16
#define NACRE_F16_OF_ONE(name, text)                     \
    NACRE_INLINE __m512i nacre_f16_##name(__m512i a) {   \
        __m512i y;                                       \
        __asm__(text " %1, %0" : "=v"(y) : "v"(a));      \
        return y;                                        \
    }
#define NACRE_F16_OF_TWO(name, text)                                 \
    NACRE_INLINE __m512i nacre_f16_##name(__m512i a, __m512i b) {    \
        __m512i y;                                                   \
        __asm__(text " %2, %1, %0" : "=v"(y) : "v"(a), "v"(b));      \
        return y;                                                    \
    }
#define NACRE_F16_TEXT(x) NACRE_F16_TEXT_(x)
#define NACRE_F16_TEXT_(x) #x
NACRE_F16_OF_TWO(add, "vaddph")
NACRE_F16_OF_TWO(sub, "vsubph")
NACRE_F16_OF_TWO(mul, "vmulph")
NACRE_F16_OF_TWO(div, "vdivph")
// b for a NaN, and for two zeros.
NACRE_F16_OF_TWO(min, "vminph")
NACRE_F16_OF_TWO(max, "vmaxph")
NACRE_F16_OF_ONE(sqrt, "vsqrtph")
NACRE_F16_OF_ONE(rint, "vrndscaleph $" NACRE_F16_TEXT(NACRE_F16_NEAR) ",")
NACRE_F16_OF_ONE(floor, "vrndscaleph $" NACRE_F16_TEXT(NACRE_F16_DOWN) ",")
NACRE_F16_OF_ONE(ceil, "vrndscaleph $" NACRE_F16_TEXT(NACRE_F16_UP) ",")
#define NACRE_F16_TEST(name, how)                                                  \
    NACRE_INLINE __mmask32 nacre_f16_##name(__m512i a, __m512i b) {                \
        __mmask32 m;                                                               \
        __asm__("vcmpph $" #how ", %2, %1, %0" : "=k"(m) : "v"(a), "v"(b));        \
        return m;                                                                  \
    }
NACRE_F16_TESTS(NACRE_F16_TEST)
#undef NACRE_F16_OF_ONE
#undef NACRE_F16_OF_TWO
#undef NACRE_F16_TEST
#undef NACRE_F16_TEXT
#undef NACRE_F16_TEXT_
#endif

NACRE_TARGET_END

#endif
#endif
#endif
