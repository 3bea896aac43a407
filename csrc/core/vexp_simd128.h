// e^x on 4 floats, with an error of just above 1 ULP, subnormal results included. It is 0 and inf
// beyond the range, and NaN for NaN.
#ifndef NACRE_CORE_VEXP_SIMD128_H
#define NACRE_CORE_VEXP_SIMD128_H

#include "core/target.h"
#include "core/vexp.h"

#if NACRE_SIMD128
#include <wasm_simd128.h>

typedef float nacre_simd128_f __attribute__((vector_size(16)));

// Adding NACRE_VEXP_WHOLE rounds to an integer and leaves it in the lowest bits.
#define NACRE_VEXP_WHOLE 0x1.8p23f

// nacre_vexp_power_simd128 returns 2^(n + more), where whole is the integer n + NACRE_VEXP_WHOLE.
// The shift removes the bits of NACRE_VEXP_WHOLE.
static inline nacre_simd128_f nacre_vexp_power_simd128(nacre_simd128_f whole, v128_t more) {
    const v128_t exponent = wasm_i32x4_add(more, wasm_i32x4_const_splat(127));
    return (nacre_simd128_f)wasm_i32x4_shl(wasm_i32x4_add((v128_t)whole, exponent), 23);
}

// nacre_vexp_part_simd128 returns e^r, with n = round(x / ln 2) and r = x - n ln 2. It sets *whole
// to n + NACRE_VEXP_WHOLE. e^x is 2^n e^r.
static inline nacre_simd128_f nacre_vexp_part_simd128(nacre_simd128_f x, nacre_simd128_f *whole) {
    *whole = x * NACRE_VEXP_LOG2E + NACRE_VEXP_WHOLE;
    const nacre_simd128_f n = *whole - NACRE_VEXP_WHOLE, r = (x - n * NACRE_VEXP_LN2_HI) - n * NACRE_VEXP_LN2_LO;
    nacre_simd128_f q = NACRE_VEXP_C7 * r + NACRE_VEXP_C6;
    q = q * r + NACRE_VEXP_C5;
    q = q * r + NACRE_VEXP_C4;
    q = q * r + NACRE_VEXP_C3;
    q = q * r + NACRE_VEXP_C2;
    return (q * r * r + r) + 1.0f;
}

// nacre_vexp_from_simd128 returns x, at least NACRE_VEXP_LOW, or NaN.
static inline nacre_simd128_f nacre_vexp_from_simd128(nacre_simd128_f x) {
    return (nacre_simd128_f)wasm_f32x4_pmax((v128_t)x, wasm_f32x4_const_splat(NACRE_VEXP_LOW));
}

// nacre_vexp_below_simd128 returns e^x for x up to NACRE_VEXP_HIGH, or NaN. It multiplies by two
// powers, because n exceeds the exponents of one float: 2^-24 if x is negative, else 2.
static inline nacre_simd128_f nacre_vexp_below_simd128(nacre_simd128_f x) {
    nacre_simd128_f whole;
    x = nacre_vexp_from_simd128(x);
    const nacre_simd128_f p = nacre_vexp_part_simd128(x, &whole);
    const v128_t negative = wasm_v128_and(wasm_i32x4_shr((v128_t)x, 31), wasm_i32x4_const_splat(25));
    const v128_t more = wasm_i32x4_sub(negative, wasm_i32x4_const_splat(1));
    const v128_t scale = wasm_i32x4_sub(wasm_i32x4_const_splat(128 << 23), wasm_i32x4_shl(negative, 23));
    return p * nacre_vexp_power_simd128(whole, more) * (nacre_simd128_f)scale;
}

static inline nacre_simd128_f nacre_vexp_simd128(nacre_simd128_f x) {
    const v128_t below = wasm_f32x4_pmin((v128_t)x, wasm_f32x4_const_splat(NACRE_VEXP_HIGH));
    return nacre_vexp_below_simd128((nacre_simd128_f)below);
}

// nacre_vexp_scaled_simd128 returns e^x NACRE_VEXP_SCALE for x up to 44, or NaN. The result is
// never subnormal, so one power suffices.
#define NACRE_VEXP_SCALE_POWER 32
#define NACRE_VEXP_SCALE 0x1p32f
static inline nacre_simd128_f nacre_vexp_scaled_simd128(nacre_simd128_f x) {
    nacre_simd128_f whole;
    const nacre_simd128_f p = nacre_vexp_part_simd128(nacre_vexp_from_simd128(x), &whole);
    return p * nacre_vexp_power_simd128(whole, wasm_i32x4_const_splat(NACRE_VEXP_SCALE_POWER));
}

// nacre_vfall_simd128 returns e^x for x <= 0, or NaN. Subnormal results become 0, because
// processors are slow to compute them.
static inline nacre_simd128_f nacre_vfall_simd128(nacre_simd128_f x) {
    nacre_simd128_f whole;
    const nacre_simd128_f p = nacre_vexp_part_simd128(x, &whole);
    const v128_t none = wasm_f32x4_lt((v128_t)x, wasm_f32x4_const_splat(NACRE_VEXP_NORMAL));
    const nacre_simd128_f all = p * nacre_vexp_power_simd128(whole, wasm_i32x4_const_splat(0));
    return (nacre_simd128_f)wasm_v128_andnot((v128_t)all, none);
}

// nacre_vpower_simd128 returns 2^x for x <= 0, or NaN. Below -125 it is 0, because processors are
// slow to compute subnormal numbers.
static inline nacre_simd128_f nacre_vpower_simd128(nacre_simd128_f x) {
    const nacre_simd128_f n = (nacre_simd128_f)wasm_f32x4_floor((v128_t)x), r = x - n;
    nacre_simd128_f q = NACRE_VPOWER_C6 * r + NACRE_VPOWER_C5;
    q = q * r + NACRE_VPOWER_C4;
    q = q * r + NACRE_VPOWER_C3;
    q = q * r + NACRE_VPOWER_C2;
    q = q * r + NACRE_VPOWER_C1;
    q = q * r + 1.0f;
    const v128_t none = wasm_f32x4_lt((v128_t)x, wasm_f32x4_const_splat(NACRE_VPOWER_LOW));
    const nacre_simd128_f power = nacre_vexp_power_simd128(n + NACRE_VEXP_WHOLE, wasm_i32x4_const_splat(0));
    return (nacre_simd128_f)wasm_v128_andnot((v128_t)(q * power), none);
}

#endif

#endif
