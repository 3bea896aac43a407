#include "core/arm.h"
#include "copy/transpose.h"

#if NACRE_AARCH64

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

NACRE_TRANSPOSE_BY_TILES(nacre_w2_transpose_4x4__neon, uint16_t, 4, w2_tile_4x4_neon, nacre_w2_transpose__scalar)

#endif
