// Transposes of tiles for the vectors of WebAssembly.
#include "copy/transpose.h"
#include "core/base.h"
#include "core/simd.h"

#if NACRE_SIMD128
#include "copy/few.inc"

static inline void w1_tile_8x8_simd128(const uint8_t *src, uint8_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    v128_t row[8], pair[4], four[4];
    for (int i = 0; i < 8; i++) row[i] = wasm_v128_load64_zero(src + i * src_stride);
    for (int i = 0; i < 4; i++) {
        pair[i] = wasm_i8x16_shuffle(row[2 * i], row[2 * i + 1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                     23);
    }
    for (int i = 0; i < 4; i += 2) {
        four[i] = wasm_i16x8_shuffle(pair[i], pair[i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        four[i + 1] = wasm_i16x8_shuffle(pair[i], pair[i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        const v128_t a = wasm_i32x4_shuffle(four[i], four[i + 2], 0, 4, 1, 5);
        const v128_t b = wasm_i32x4_shuffle(four[i], four[i + 2], 2, 6, 3, 7);
        uint8_t *const to = dst + 4 * i * dst_stride;
        wasm_v128_store64_lane(to, a, 0);
        wasm_v128_store64_lane(to + dst_stride, a, 1);
        wasm_v128_store64_lane(to + 2 * dst_stride, b, 0);
        wasm_v128_store64_lane(to + 3 * dst_stride, b, 1);
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w1_transpose_8x8__simd128, uint8_t, 8, w1_tile_8x8_simd128, few_w1,
                         nacre_w1_transpose__scalar)

static inline void w2_tile_4x4_simd128(const uint16_t *src, uint16_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    v128_t row[4];
    for (int i = 0; i < 4; i++) row[i] = wasm_v128_load64_zero(src + i * src_stride);
    const v128_t ab = wasm_i16x8_shuffle(row[0], row[1], 0, 8, 1, 9, 2, 10, 3, 11);
    const v128_t cd = wasm_i16x8_shuffle(row[2], row[3], 0, 8, 1, 9, 2, 10, 3, 11);
    const v128_t low = wasm_i32x4_shuffle(ab, cd, 0, 4, 1, 5), high = wasm_i32x4_shuffle(ab, cd, 2, 6, 3, 7);
    wasm_v128_store64_lane(dst, low, 0);
    wasm_v128_store64_lane(dst + dst_stride, low, 1);
    wasm_v128_store64_lane(dst + 2 * dst_stride, high, 0);
    wasm_v128_store64_lane(dst + 3 * dst_stride, high, 1);
}

NACRE_TRANSPOSE_BY_TILES(nacre_w2_transpose_4x4__simd128, uint16_t, 4, w2_tile_4x4_simd128, few_w2,
                         nacre_w2_transpose__scalar)

static inline void w4_tile_4x4_simd128(const uint32_t *src, uint32_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    v128_t row[4], pair[4];
    for (int i = 0; i < 4; i++) row[i] = wasm_v128_load(src + i * src_stride);
    for (int i = 0; i < 4; i += 2) {
        pair[i] = wasm_i32x4_shuffle(row[i], row[i + 1], 0, 4, 1, 5);
        pair[i + 1] = wasm_i32x4_shuffle(row[i], row[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        uint32_t *const to = dst + 2 * i * dst_stride;
        wasm_v128_store(to, wasm_i64x2_shuffle(pair[i], pair[i + 2], 0, 2));
        wasm_v128_store(to + dst_stride, wasm_i64x2_shuffle(pair[i], pair[i + 2], 1, 3));
    }
}

NACRE_TRANSPOSE_BY_TILES(nacre_w4_transpose_4x4__simd128, uint32_t, 4, w4_tile_4x4_simd128, few_w4,
                         nacre_w4_transpose__scalar)

static inline void w8_tile_2x2_simd128(const uint64_t *src, uint64_t *dst, ptrdiff_t src_stride, ptrdiff_t dst_stride) {
    const v128_t a = wasm_v128_load(src), b = wasm_v128_load(src + src_stride);
    wasm_v128_store(dst, wasm_i64x2_shuffle(a, b, 0, 2));
    wasm_v128_store(dst + dst_stride, wasm_i64x2_shuffle(a, b, 1, 3));
}

NACRE_TRANSPOSE_BY_TILES(nacre_w8_transpose_2x2__simd128, uint64_t, 2, w8_tile_2x2_simd128, few_w8,
                         nacre_w8_transpose__scalar)

#endif
