// The variants of i8_gemm and i8_lookup for 64-bit ARM.
#include <string.h>

#include "core/arm.h"
#include "core/simd.h"
#include "core/vec.h"
#include "quant/quant.h"

#if NACRE_AARCH64

// ---- i8_gemm ----

// 24 of the 32 registers are sums, three hold b, one four numbers of a row of a.
NACRE_TARGET_BEGIN(NACRE_DOTPROD)

#define OWN(name) i8_gemm_##name##_dotprod
#define FUNCTION nacre_i8_gemm_8x12__dotprod
#define I int32x4_t
#define A int8_t
#define B int8x16_t
#define X int8x16_t
#define MR 8
#define NV 3
#define LANES 4
#define GROUP 4
#define B_UNSIGNED 0
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ZERO() vdupq_n_s32(0)
#define LOAD(b) vreinterpretq_s8_u8(vld1q_u8(b))
#define BROADCAST(a) i8_broadcast_dotprod(a)
#define STEP_OF(c, x, b) i8_dot_dotprod(c, x, b)
#define STORE(p, c) vst1q_s32(p, c)

NACRE_INLINE int8x16_t i8_broadcast_dotprod(const int8_t *a) {
    int32_t four;
    memcpy(&four, a, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// Compilers have the intrinsic only where flags of the whole file allow it.
NACRE_INLINE int32x4_t i8_dot_dotprod(int32x4_t c, int8x16_t x, int8x16_t b) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(x), "w"(b));
    return c;
}

#include "quant/i8_gemm_tile.inc"

NACRE_TARGET_END

// 16 of the 32 registers are sums, two hold b widened to 16 bits, one a number of a.
#define OWN(name) i8_gemm_##name##_neon
#define FUNCTION nacre_i8_gemm_8x8__neon
#define I int32x4_t
#define A int16_t
#define B int16x4_t
#define X int16x4_t
#define MR 8
#define NV 2
#define LANES 4
#define GROUP 1
#define B_UNSIGNED 0
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ZERO() vdupq_n_s32(0)
#define LOAD(b) i8_load_neon(b)
#define BROADCAST(a) vdup_n_s16(*(a))
#define STEP_OF(c, x, b) vmlal_s16(c, x, b)
#define STORE(p, c) vst1q_s32(p, c)

NACRE_INLINE int16x4_t i8_load_neon(const uint8_t *b) {
    uint32_t four;
    memcpy(&four, b, sizeof four);
    return vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))));
}

#include "quant/i8_gemm_tile.inc"

// ---- i8_lookup ----

// A table as four parts of 64 bytes, each of which leaves what lies outside as it is.
void nacre_i8_lookup__neon(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    uint8x16x4_t parts[4];
    for (int h = 0; h < 4; h++) parts[h] = vld1q_u8_x4(table + 64 * h);
    const uint8x16_t part = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t at = vld1q_u8(x + i), found = vqtbl4q_u8(parts[0], at);
        for (int h = 1; h < 4; h++) {
            at = vsubq_u8(at, part);
            found = vqtbx4q_u8(found, parts[h], at);
        }
        vst1q_u8(y + i, found);
    }
    for (; i < n; i++) y[i] = table[x[i]];
}

#endif
