#include "core/x86.h"
#include "copy/transpose.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

static inline void w8_tile_4x4_avx2(const uint64_t *src, uint64_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m256i row[4], pair[4];
    for (int i = 0; i < 4; i++) row[i] = _mm256_loadu_si256((const __m256i *)(src + i * src_stride));
    for (int i = 0; i < 4; i += 2) {
        pair[i] = _mm256_unpacklo_epi64(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi64(row[i], row[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        _mm256_storeu_si256((__m256i *)(dst + i * dst_stride), _mm256_permute2x128_si256(pair[i], pair[i + 2], 0x20));
        _mm256_storeu_si256((__m256i *)(dst + (i + 2) * dst_stride), _mm256_permute2x128_si256(pair[i], pair[i + 2], 0x31));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w8_transpose_4x4__avx2, uint64_t, 4, w8_tile_4x4_avx2, nacre_w8_transpose__scalar)

NACRE_TARGET_END
#endif
