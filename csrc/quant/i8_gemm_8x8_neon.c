// 16 of the 32 registers are sums, two hold b widened to 16 bits, one a number of a.
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "core/arm.h"
#include "quant/quant.h"

#if NACRE_AARCH64

#define OWN(name) i8_gemm_##name##_neon
#define I int32x4_t
#define A int16_t
#define B int16x4_t
#define X int16x4_t
#define MR 8
#define NV 2
#define LANES 4
#define GROUP 1
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ZERO() vdupq_n_s32(0)
#define LOAD(b) i8_load_neon(b)
#define SPREAD(a) vdup_n_s16(*(a))
#define STEP_OF(c, x, b) vmlal_s16(c, x, b)
#define STORE(p, c) vst1q_s32(p, c)

NACRE_INLINE int16x4_t i8_load_neon(const uint8_t *b) {
    uint32_t four;
    memcpy(&four, b, sizeof four);
    return vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))));
}

#include "quant/i8_gemm_parts.inc"
#include "quant/i8_gemm_tile.inc"

const nacre_i8_gemm_impl *nacre_i8_gemm_8x8__neon(void) {
    static const nacre_i8_gemm_impl impl = {MR, NV * LANES, GROUP, sizeof(A), 0, OWN(tile), OWN(line), OWN(finish), OWN(to_floats), OWN(to_integers)};
    return &impl;
}

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
