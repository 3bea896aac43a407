// Transposes of tiles for Advanced SIMD.
#include "copy/transpose.h"
#include "core/simd.h"
#include "core/arm.h"

#if NACRE_AARCH64
#include "copy/few.inc"

static inline void w2_tile_4x4_neon(const uint16_t *src, uint16_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    uint16x4_t row[4], pair[4];
    for (int i = 0; i < 4; i++) row[i] = vld1_u16(src + i * src_stride);
    for (int i = 0; i < 4; i += 2) {
        pair[i] = vtrn1_u16(row[i], row[i + 1]);
        pair[i + 1] = vtrn2_u16(row[i], row[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        const uint32x2_t a = vreinterpret_u32_u16(pair[i]), b = vreinterpret_u32_u16(pair[i + 2]);
        vst1_u16(dst + i * dst_stride, vreinterpret_u16_u32(vtrn1_u32(a, b)));
        vst1_u16(dst + (i + 2) * dst_stride, vreinterpret_u16_u32(vtrn2_u32(a, b)));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w2_transpose_4x4__neon, uint16_t, 4, w2_tile_4x4_neon, few_w2,
                         nacre_w2_transpose__scalar)

static inline void w4_tile_4x4_neon(const uint32_t *src, uint32_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    uint32x4_t row[4], pair[4];
    for (int i = 0; i < 4; i++) row[i] = vld1q_u32(src + i * src_stride);
    for (int i = 0; i < 4; i += 2) {
        pair[i] = vtrn1q_u32(row[i], row[i + 1]);
        pair[i + 1] = vtrn2q_u32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        const uint64x2_t a = vreinterpretq_u64_u32(pair[i]), b = vreinterpretq_u64_u32(pair[i + 2]);
        vst1q_u32(dst + i * dst_stride, vreinterpretq_u32_u64(vtrn1q_u64(a, b)));
        vst1q_u32(dst + (i + 2) * dst_stride, vreinterpretq_u32_u64(vtrn2q_u64(a, b)));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_4x4__neon, uint32_t, 4, w4_tile_4x4_neon, few_w4,
                         nacre_w4_transpose__scalar)

#endif
