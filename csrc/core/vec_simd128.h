// core/vec.h for the 128-bit vectors of WebAssembly.
#ifndef NACRE_CORE_VEC_SIMD128_H
#define NACRE_CORE_VEC_SIMD128_H

#include "core/vec.h"
#include "core/vexp_simd128.h"

#if NACRE_SIMD128
#include <stddef.h>
#include <stdint.h>

#define NACRE_LANES_simd128 4
#define NACRE_BEGIN_simd128
#define NACRE_END_simd128

NACRE_INLINE nacre_simd128_f nacre_simd128_load(const float *p) { return (nacre_simd128_f)wasm_v128_load(p); }

// nacre_simd128_load_f16 shifts exponent and fraction, and corrects the exponent by a product, as
// nacre_f16_to_f32 does.
NACRE_INLINE nacre_simd128_f nacre_simd128_load_f16(const uint16_t *p) {
    const v128_t all = wasm_u32x4_load16x4(p), magnitude = wasm_v128_and(all, wasm_i32x4_const_splat(0x7fff));
    const v128_t number = wasm_f32x4_mul(wasm_i32x4_shl(magnitude, 13), wasm_f32x4_const_splat(0x1p112f));
    const v128_t endless = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7bff));
    const v128_t sign = wasm_i32x4_shl(wasm_v128_xor(all, magnitude), 16);
    const v128_t top = wasm_v128_and(endless, wasm_i32x4_const_splat(0x7f800000));
    return (nacre_simd128_f)wasm_v128_or(wasm_v128_or(number, sign), top);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_load_bf16(const uint16_t *p) {
    return (nacre_simd128_f)wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_load_i8(const int8_t *p) {
    const v128_t twos = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p));
    return (nacre_simd128_f)wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(twos));
}
NACRE_INLINE void nacre_simd128_store(float *p, nacre_simd128_f a) { wasm_v128_store(p, (v128_t)a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_load_n(const float *p, size_t n, nacre_simd128_f fill) {
    float t[4];
    wasm_v128_store(t, (v128_t)fill);
    for (size_t i = 0; i < n; i++) t[i] = p[i];
    return nacre_simd128_load(t);
}
NACRE_INLINE void nacre_simd128_store_n(float *p, size_t n, nacre_simd128_f a) {
    for (size_t i = 0; i < n; i++) p[i] = a[i];
}

typedef double nacre_simd128_d __attribute__((vector_size(16)));
NACRE_INLINE nacre_simd128_d nacre_simd128_load_d(const double *p) { return (nacre_simd128_d)wasm_v128_load(p); }
NACRE_INLINE void nacre_simd128_store_d(double *p, nacre_simd128_d a) { wasm_v128_store(p, (v128_t)a); }
NACRE_INLINE nacre_simd128_d nacre_simd128_set1_d(double a) { return (nacre_simd128_d)wasm_f64x2_splat(a); }
NACRE_INLINE nacre_simd128_d nacre_simd128_fma_d(nacre_simd128_d a, nacre_simd128_d b, nacre_simd128_d c) {
    return a * b + c;
}

NACRE_INLINE void nacre_simd128_add_product(nacre_simd128_f *sum, nacre_simd128_f a, nacre_simd128_f b) {
    *sum += a * b;
}
NACRE_INLINE nacre_simd128_f nacre_simd128_keep(nacre_simd128_f a) { return a; }
NACRE_INLINE nacre_simd128_f nacre_simd128_set1(float a) { return (nacre_simd128_f)wasm_f32x4_splat(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_add(nacre_simd128_f a, nacre_simd128_f b) { return a + b; }
NACRE_INLINE nacre_simd128_f nacre_simd128_sub(nacre_simd128_f a, nacre_simd128_f b) { return a - b; }
NACRE_INLINE nacre_simd128_f nacre_simd128_mul(nacre_simd128_f a, nacre_simd128_f b) { return a * b; }
NACRE_INLINE nacre_simd128_f nacre_simd128_once(nacre_simd128_f a) { return a; }
NACRE_INLINE nacre_simd128_f nacre_simd128_div(nacre_simd128_f a, nacre_simd128_f b) { return a / b; }
NACRE_INLINE nacre_simd128_f nacre_simd128_sqrt(nacre_simd128_f a) {
    return (nacre_simd128_f)wasm_f32x4_sqrt((v128_t)a);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_abs(nacre_simd128_f a) { return (nacre_simd128_f)wasm_f32x4_abs((v128_t)a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_fma(nacre_simd128_f a, nacre_simd128_f b, nacre_simd128_f c) {
    return a * b + c;
}

// nacre_simd128_fused computes in doubles, which hold every product.
NACRE_INLINE nacre_simd128_f nacre_simd128_fused(nacre_simd128_f a, nacre_simd128_f b, nacre_simd128_f c) {
    typedef double wide __attribute__((vector_size(32)));
    return __builtin_convertvector(__builtin_convertvector(a, wide) * __builtin_convertvector(b, wide) +
                                       __builtin_convertvector(c, wide), nacre_simd128_f);
}

// pmax(b, a) is a if b < a, else b.
NACRE_INLINE nacre_simd128_f nacre_simd128_max(nacre_simd128_f a, nacre_simd128_f b) {
    return (nacre_simd128_f)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_min(nacre_simd128_f a, nacre_simd128_f b) {
    return (nacre_simd128_f)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_maxnan(nacre_simd128_f a, nacre_simd128_f b) {
    return (nacre_simd128_f)wasm_f32x4_max((v128_t)a, (v128_t)b);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_minnan(nacre_simd128_f a, nacre_simd128_f b) {
    return (nacre_simd128_f)wasm_f32x4_min((v128_t)a, (v128_t)b);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_neg(nacre_simd128_f a) { return -a; }
NACRE_INLINE nacre_simd128_f nacre_simd128_copysign(nacre_simd128_f a, nacre_simd128_f sign) {
    return (nacre_simd128_f)wasm_v128_bitselect((v128_t)sign, (v128_t)a, wasm_i32x4_const_splat(INT32_MIN));
}
NACRE_INLINE nacre_simd128_f nacre_simd128_rint(nacre_simd128_f a) {
    return (nacre_simd128_f)wasm_f32x4_nearest((v128_t)a);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_floor(nacre_simd128_f a) {
    return (nacre_simd128_f)wasm_f32x4_floor((v128_t)a);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_ceil(nacre_simd128_f a) {
    return (nacre_simd128_f)wasm_f32x4_ceil((v128_t)a);
}
NACRE_INLINE v128_t nacre_simd128_lt(nacre_simd128_f a, nacre_simd128_f b) {
    return wasm_f32x4_lt((v128_t)a, (v128_t)b);
}
NACRE_INLINE unsigned nacre_simd128_bits(v128_t m) { return wasm_i32x4_bitmask(m); }
NACRE_INLINE nacre_simd128_f nacre_simd128_pick(v128_t m, nacre_simd128_f a, nacre_simd128_f b) {
    return (nacre_simd128_f)wasm_v128_bitselect((v128_t)a, (v128_t)b, m);
}

NACRE_INLINE nacre_simd128_f nacre_simd128_power(v128_t n) {
    return (nacre_simd128_f)wasm_i32x4_shl(wasm_i32x4_add(n, wasm_i32x4_const_splat(127)), 23);
}

// nacre_simd128_ldexp multiplies by two powers. Only the second product can leave the range of
// normal numbers, so it alone rounds.
NACRE_INLINE nacre_simd128_f nacre_simd128_ldexp(nacre_simd128_f a, nacre_simd128_f n) {
    const v128_t whole = wasm_i32x4_trunc_sat_f32x4((v128_t)n), half = wasm_i32x4_shr(whole, 1);
    return a * nacre_simd128_power(half) * nacre_simd128_power(wasm_i32x4_sub(whole, half));
}

NACRE_INLINE nacre_simd128_f nacre_simd128_split(nacre_simd128_f x, nacre_simd128_f *e) {
    const v128_t tiny = wasm_f32x4_lt((v128_t)x, wasm_f32x4_const_splat(0x1p-126f));
    x = nacre_simd128_pick(tiny, x * 0x1p+24f, x);
    const v128_t root = wasm_i32x4_const_splat(0x3f3504f3), from = wasm_i32x4_sub((v128_t)x, root);
    const v128_t fraction = wasm_v128_and(from, wasm_i32x4_const_splat(0x7fffff));
    *e = (nacre_simd128_f)wasm_f32x4_convert_i32x4(wasm_i32x4_shr(from, 23)) -
        (nacre_simd128_f)wasm_v128_and(tiny, wasm_f32x4_const_splat(24.0f));
    return (nacre_simd128_f)wasm_i32x4_add(fraction, root);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_arrange(nacre_simd128_f a, const int32_t *from) {
    const v128_t first = wasm_i32x4_mul(wasm_v128_load(from), wasm_i32x4_const_splat(0x04040404));
    return (nacre_simd128_f)wasm_i8x16_swizzle((v128_t)a, wasm_i32x4_add(first, wasm_i32x4_const_splat(0x03020100)));
}
NACRE_INLINE nacre_simd128_f nacre_simd128_exp_below(nacre_simd128_f a) { return nacre_vexp_below_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_exp_scaled(nacre_simd128_f a) { return nacre_vexp_scaled_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_exp_coarse(nacre_simd128_f a) { return nacre_vexp_scaled_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_exp_scale(void) { return nacre_simd128_set1(NACRE_VEXP_SCALE); }
NACRE_INLINE nacre_simd128_f nacre_simd128_exp(nacre_simd128_f a) { return nacre_vexp_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_fall(nacre_simd128_f a) { return nacre_vfall_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_power_below(nacre_simd128_f a) { return nacre_vpower_simd128(a); }
NACRE_INLINE nacre_simd128_f nacre_simd128_odd(nacre_simd128_f a, nacre_simd128_f b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_even(nacre_simd128_f a, nacre_simd128_f b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_pairs(nacre_simd128_f a, nacre_simd128_f b) {
    return nacre_simd128_even(a, b) + nacre_simd128_odd(a, b);
}
NACRE_INLINE nacre_simd128_f nacre_simd128_sums(const nacre_simd128_f *v) {
    return nacre_simd128_pairs(nacre_simd128_pairs(v[0], v[1]), nacre_simd128_pairs(v[2], v[3]));
}
NACRE_INLINE nacre_simd128_f nacre_simd128_swap(nacre_simd128_f a, size_t d) {
    return d == 2 ? __builtin_shufflevector(a, a, 2, 3, 0, 1) : __builtin_shufflevector(a, a, 1, 0, 3, 2);
}
NACRE_INLINE float nacre_simd128_first(nacre_simd128_f a) { return a[0]; }
NACRE_INLINE nacre_simd128_f nacre_simd128_gather(const float *p, const int32_t *index) {
    return (nacre_simd128_f){p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
}

#endif

#endif
