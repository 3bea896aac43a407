#include "core/x86.h"
#include "copy/transpose.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

static inline void w2_tile_8x8_avx2(const uint16_t *src, uint16_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m128i row[8], part[8];
    for (int i = 0; i < 8; i++) row[i] = _mm_loadu_si128((const __m128i *)(src + i * src_stride));
    // Three rounds of merging row i with row i + 4 put column bits before row bits.
    for (int i = 0; i < 4; i++) {
        part[2 * i] = _mm_unpacklo_epi16(row[i], row[i + 4]);
        part[2 * i + 1] = _mm_unpackhi_epi16(row[i], row[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        row[2 * i] = _mm_unpacklo_epi16(part[i], part[i + 4]);
        row[2 * i + 1] = _mm_unpackhi_epi16(part[i], part[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(dst + 2 * i * dst_stride), _mm_unpacklo_epi16(row[i], row[i + 4]));
        _mm_storeu_si128((__m128i *)(dst + (2 * i + 1) * dst_stride), _mm_unpackhi_epi16(row[i], row[i + 4]));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w2_transpose_8x8__avx2, uint16_t, 8, w2_tile_8x8_avx2, nacre_w2_transpose__scalar)

NACRE_TARGET_END
#endif
