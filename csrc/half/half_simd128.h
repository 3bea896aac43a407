// Conversions of 16-bit floats and of codes with the vectors of WebAssembly.
#ifndef NACRE_HALF_HALF_SIMD128_H
#define NACRE_HALF_HALF_SIMD128_H

#include "half/half.h"
#include "half/half_scalar.h"

#if NACRE_SIMD128
#include "core/vec_simd128.h"

static inline void nacre_f16_to_f32__simd128(const void *px, void *py, size_t n) {
    const uint16_t *x = px;
    float *y = py;
    for (; n >= 4; n -= 4, x += 4, y += 4) nacre_simd128_store(y, nacre_simd128_load_f16(x));
    for (size_t i = 0; i < n; i++) y[i] = nacre_f16_to_f32(x[i]);
}

// nacre_f16_of_simd128 returns the bits of four floats as float16, in the steps of
// nacre_f32_to_f16.
NACRE_INLINE v128_t nacre_f16_of_simd128(const float *x) {
    const v128_t all = wasm_v128_load(x), u = wasm_v128_and(all, wasm_i32x4_const_splat(0x7fffffff));
    const v128_t half = wasm_f32x4_const_splat(0.5f);
    const v128_t odd = wasm_v128_and(wasm_u32x4_shr(u, 13), wasm_i32x4_const_splat(1));
    const v128_t small = wasm_i32x4_sub(wasm_f32x4_add(u, half), half);
    const v128_t rounded = wasm_i32x4_add(wasm_i32x4_add(u, odd), wasm_i32x4_const_splat(0xfff - (112 << 23)));
    v128_t h = wasm_u32x4_shr(rounded, 13);
    h = wasm_v128_bitselect(small, h, wasm_i32x4_lt(u, wasm_i32x4_const_splat(0x38800000)));
    h = wasm_v128_bitselect(wasm_i32x4_const_splat(0x7c00), h, wasm_i32x4_ge(u, wasm_i32x4_const_splat(0x477ff000)));
    h = wasm_v128_bitselect(wasm_i32x4_const_splat(0x7e00), h, wasm_i32x4_gt(u, wasm_i32x4_const_splat(0x7f800000)));
    return wasm_v128_or(h, wasm_u32x4_shr(wasm_v128_xor(all, u), 16));
}

static inline void nacre_f32_to_f16__simd128(const void *px, void *py, size_t n) {
    const float *x = px;
    uint16_t *y = py;
    for (; n >= 8; n -= 8, x += 8, y += 8) {
        wasm_v128_store(y, wasm_u16x8_narrow_i32x4(nacre_f16_of_simd128(x), nacre_f16_of_simd128(x + 4)));
    }
    for (size_t i = 0; i < n; i++) y[i] = nacre_f32_to_f16(x[i]);
}

static inline void nacre_codes_to_f32__simd128(const int8_t *x, float scale, float *y, size_t n) {
    for (; n >= 4; n -= 4, x += 4, y += 4) nacre_simd128_store(y, nacre_simd128_load_i8(x) * scale);
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i] * scale;
}

// nacre_code_of_simd128 returns four numbers divided by a scale, rounded, from -127 to 127.
NACRE_INLINE v128_t nacre_code_of_simd128(const float *x, nacre_simd128_f by) {
    const nacre_simd128_f most = nacre_simd128_set1(127), least = nacre_simd128_set1(-127);
    const nacre_simd128_f c = nacre_simd128_max(nacre_simd128_min(nacre_simd128_load(x) / by, most), least);
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest((v128_t)c));
}

static inline float nacre_f32_to_codes__simd128(const float *src, int8_t *dst, size_t n) {
    if (n < 8) return nacre_f32_to_codes__scalar(src, dst, n);
    const v128_t sign = wasm_i32x4_const_splat(0x7fffffff);
    // The last vectors overlap those before them.
    v128_t t = wasm_v128_and(wasm_v128_load(src + n - 4), sign);
    for (size_t i = 0; i + 4 <= n; i += 4) t = wasm_u32x4_max(t, wasm_v128_and(wasm_v128_load(src + i), sign));
    t = wasm_u32x4_max(t, wasm_i32x4_shuffle(t, t, 2, 3, 0, 1));
    t = wasm_u32x4_max(t, wasm_i32x4_shuffle(t, t, 1, 0, 3, 2));
    const float scale = nacre_half_scale(wasm_u32x4_extract_lane(t, 0));
    if (!(scale > 0)) {
        memset(dst, 0, n);
        return scale;
    }
    const nacre_simd128_f by = nacre_simd128_set1(scale);
    for (size_t i = 0; i < n; i += 8) {
        const size_t at = i + 8 <= n ? i : n - 8;
        const v128_t low = nacre_code_of_simd128(src + at, by), high = nacre_code_of_simd128(src + at + 4, by);
        const v128_t c = wasm_i16x8_narrow_i32x4(low, high);
        wasm_v128_store64_lane(dst + at, wasm_i8x16_narrow_i16x8(c, c), 0);
    }
    return scale;
}

NACRE_HALF_CODE(simd128)
NACRE_HALF_DECODE(simd128)

static inline const nacre_half *nacre_half__simd128(void) {
    static const nacre_half table = {
        .widen = NACRE_HALF_TABLE(nacre_f16_to_f32__simd128, nacre_bf16_to_f32__scalar),
        .narrow = NACRE_HALF_TABLE(nacre_f32_to_f16__simd128, nacre_f32_to_bf16__scalar),
        .code = nacre_code__simd128,
        .decode = nacre_decode__simd128,
    };
    return &table;
}
#endif

#endif
