// The variants of f32_block_panels and i8_block_panels for the vectors of WebAssembly.
#include "blocks/forms.h"
#include "core/simd.h"
#include "core/vec_simd128.h"

#if NACRE_SIMD128

#define F nacre_simd128_f
#define LANES ((size_t)NACRE_LANES_simd128)
#define LANES_N NACRE_LANES_simd128
#define V(name) nacre_simd128_##name
#define K(name) f32_panels_##name##_simd128
#define WIDENED(p) ((W)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p))))
#define LOOKUP(t, v) ((W)wasm_i8x16_swizzle((v128_t)(t), (v128_t)(v)))
#define TABLES 0
#define NUMBER(t, v) (t).low
#define SIXTEEN(t, v) (t)
#define FAR 1024
#define SIZES(X) X(4) X(1)
#define MOST 4

#include "blocks/panels_slab.inc"

#include "blocks/panels_f32.inc"

const nacre_block_panels_impl *nacre_f32_block_panels__simd128(void) { return &K(impl); }

// Products are of even bytes, and of odd ones, as numbers of 16 bits: the sum of two is in the lane
// of their word.
#define R(name) i8_panels_##name##_simd128
#define CENTRED(f) 0
#define WIDES 0
#define DOT(d, v, q, wide) R(multiply)(d, (v128_t)(v), (v128_t)(q))

NACRE_INLINE W R(multiply)(W d, v128_t v, v128_t q) {
    const v128_t low = wasm_v128_and(v, wasm_i16x8_const_splat(0xff));
    const v128_t even = wasm_i32x4_dot_i16x8(low, wasm_i16x8_shr(wasm_i16x8_shl(q, 8), 8));
    return d + (W)even + (W)wasm_i32x4_dot_i16x8(wasm_u16x8_shr(v, 8), wasm_i16x8_shr(q, 8));
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__simd128(void) { return &R(impl); }

#endif
