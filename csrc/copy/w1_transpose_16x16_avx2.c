#include "core/x86.h"
#include "copy/transpose.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

// One round of merging row i with row i + 8; four rounds put column bits before
// row bits.
static inline void w1_merge_avx2(const __m128i *from, __m128i *to) {
    for (int i = 0; i < 8; i++) {
        to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]);
        to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);
    }
}

static inline void w1_tile_16x16_avx2(const uint8_t *src, uint8_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m128i a[16], b[16];
    for (int i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(src + i * src_stride));
    w1_merge_avx2(a, b);
    w1_merge_avx2(b, a);
    w1_merge_avx2(a, b);
    w1_merge_avx2(b, a);
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(dst + i * dst_stride), a[i]);
}

NACRE_TRANSPOSE_BY_TILES(nacre_w1_transpose_16x16__avx2, uint8_t, 16, w1_tile_16x16_avx2, nacre_w1_transpose__scalar)

NACRE_TARGET_END
#endif
