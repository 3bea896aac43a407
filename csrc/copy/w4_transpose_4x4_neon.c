#include "core/arm.h"
#include "copy/transpose.h"

#if NACRE_AARCH64

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

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_4x4__neon, uint32_t, 4, w4_tile_4x4_neon, nacre_w4_transpose__scalar)

#endif
