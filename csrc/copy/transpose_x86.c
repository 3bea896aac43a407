// Transposes of tiles for 64-bit x86.
#include "copy/transpose.h"
#include "core/simd.h"
#include "core/x86.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#include "copy/few.inc"

// w1_merge_avx2 merges each row i with row i + 8. Four rounds put column bits before row bits.
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

NACRE_TRANSPOSE_BY_TILES(nacre_w1_transpose_16x16__avx2, uint8_t, 16, w1_tile_16x16_avx2, few_w1,
                         nacre_w1_transpose__scalar)

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

NACRE_TRANSPOSE_BY_TILES(nacre_w2_transpose_8x8__avx2, uint16_t, 8, w2_tile_8x8_avx2, few_w2,
                         nacre_w2_transpose__scalar)

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

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_8x8__avx2, uint32_t, 8, w4_tile_8x8_avx2, few_w4,
                         nacre_w4_transpose__scalar)

static inline void w8_tile_4x4_avx2(const uint64_t *src, uint64_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    __m256i row[4], pair[4];
    for (int i = 0; i < 4; i++) row[i] = _mm256_loadu_si256((const __m256i *)(src + i * src_stride));
    for (int i = 0; i < 4; i += 2) {
        pair[i] = _mm256_unpacklo_epi64(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi64(row[i], row[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        _mm256_storeu_si256((__m256i *)(dst + i * dst_stride), _mm256_permute2x128_si256(pair[i], pair[i + 2], 0x20));
        _mm256_storeu_si256((__m256i *)(dst + (i + 2) * dst_stride),
                            _mm256_permute2x128_si256(pair[i], pair[i + 2], 0x31));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w8_transpose_4x4__avx2, uint64_t, 4, w8_tile_4x4_avx2, few_w8,
                         nacre_w8_transpose__scalar)

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_AVX512)

static inline void w4_tile_16x16_avx512(const uint32_t *src, uint32_t *dst, ptrdiff_t src_stride,
                                        ptrdiff_t dst_stride) {
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

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_16x16__avx512, uint32_t, 16, w4_tile_16x16_avx512, few_w4,
                         nacre_w4_transpose_8x8__avx2)

NACRE_TARGET_END
#endif
