#include "core/x86.h"
#include "copy/transpose.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

static inline void w4_tile_8x8_avx2(const uint32_t *src, uint32_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m256 row[8], pair[8];
    for (int i = 0; i < 8; i++) row[i] = _mm256_loadu_ps((const float *)(src + i * src_stride));
    // Columns of two rows next to each other, then of four.
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        row[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
        row[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
        row[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
        row[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps((float *)(dst + i * dst_stride), _mm256_permute2f128_ps(row[i], row[i + 4], 0x20));
        _mm256_storeu_ps((float *)(dst + (i + 4) * dst_stride), _mm256_permute2f128_ps(row[i], row[i + 4], 0x31));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_8x8__avx2, uint32_t, 8, w4_tile_8x8_avx2, nacre_w4_transpose__scalar)

NACRE_TARGET_END
#endif
