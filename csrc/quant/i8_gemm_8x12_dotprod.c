// 24 of the 32 registers are sums, three hold b, one four numbers of a row of a.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "core/arm.h"
#include "quant/quant.h"

#if NACRE_AARCH64
NACRE_TARGET_BEGIN(NACRE_DOTPROD)

#define OWN(name) i8_gemm_##name##_dotprod
#define I int32x4_t
#define A int8_t
#define B int8x16_t
#define X int8x16_t
#define MR 8
#define NV 3
#define LANES 4
#define GROUP 4
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ZERO() vdupq_n_s32(0)
#define LOAD(b) vreinterpretq_s8_u8(vld1q_u8(b))
#define SPREAD(a) i8_spread_dotprod(a)
#define STEP_OF(c, x, b) i8_dot_dotprod(c, x, b)
#define STORE(p, c) vst1q_s32(p, c)

NACRE_INLINE int8x16_t i8_spread_dotprod(const int8_t *a) {
    int32_t four;
    memcpy(&four, a, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// Compilers have the intrinsic only where flags of the whole file allow it.
NACRE_INLINE int32x4_t i8_dot_dotprod(int32x4_t c, int8x16_t x, int8x16_t b) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(x), "w"(b));
    return c;
}

#include "quant/i8_gemm_parts.inc"
#include "quant/i8_gemm_tile.inc"

const nacre_i8_gemm_impl *nacre_i8_gemm_8x12__dotprod(void) {
    static const nacre_i8_gemm_impl impl = {MR, NV * LANES, GROUP, sizeof(A), 0, OWN(tile), OWN(line), OWN(finish), OWN(to_floats), OWN(to_integers)};
    return &impl;
}

NACRE_TARGET_END

#undef OWN
#undef I
#undef A
#undef B
#undef X
#undef MR
#undef NV
#undef LANES
#undef GROUP
#undef ROWS
#undef ZERO
#undef LOAD
#undef SPREAD
#undef STEP_OF
#undef STORE
#endif
