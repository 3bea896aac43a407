#include "core/x86.h"
#include "copy/transpose.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

static inline void w4_tile_16x16_avx512(const uint32_t *src, uint32_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m512i row[16], part[16];
    for (int i = 0; i < 16; i++) row[i] = _mm512_loadu_si512(src + i * src_stride);
    // In each 128-bit lane: columns of two rows next to each other, then of four.
    for (int i = 0; i < 16; i += 2) {
        part[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        part[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        row[i] = _mm512_unpacklo_epi64(part[i], part[i + 2]);
        row[i + 1] = _mm512_unpackhi_epi64(part[i], part[i + 2]);
        row[i + 2] = _mm512_unpacklo_epi64(part[i + 1], part[i + 3]);
        row[i + 3] = _mm512_unpackhi_epi64(part[i + 1], part[i + 3]);
    }
    // row[4 * g + j] now holds, in lane k, column 4 * k + j of rows 4g..4g+3.
    for (int j = 0; j < 4; j++) {
        part[j] = _mm512_shuffle_i32x4(row[j], row[j + 4], 0x88);
        part[j + 4] = _mm512_shuffle_i32x4(row[j], row[j + 4], 0xdd);
        part[j + 8] = _mm512_shuffle_i32x4(row[j + 8], row[j + 12], 0x88);
        part[j + 12] = _mm512_shuffle_i32x4(row[j + 8], row[j + 12], 0xdd);
    }
    for (int j = 0; j < 4; j++) {
        _mm512_storeu_si512(dst + j * dst_stride, _mm512_shuffle_i32x4(part[j], part[j + 8], 0x88));
        _mm512_storeu_si512(dst + (j + 4) * dst_stride, _mm512_shuffle_i32x4(part[j + 4], part[j + 12], 0x88));
        _mm512_storeu_si512(dst + (j + 8) * dst_stride, _mm512_shuffle_i32x4(part[j], part[j + 8], 0xdd));
        _mm512_storeu_si512(dst + (j + 12) * dst_stride, _mm512_shuffle_i32x4(part[j + 4], part[j + 12], 0xdd));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_16x16__avx512, uint32_t, 16, w4_tile_16x16_avx512, nacre_w4_transpose_8x8__avx2)

NACRE_TARGET_END
#endif
