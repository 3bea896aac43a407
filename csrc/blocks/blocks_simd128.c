// The variants of f32_blocks for the vectors of WebAssembly. Blocks are unpacked as in scalar.c.
#include "blocks/blocks.h"
#include "core/vec_simd128.h"

#if NACRE_SIMD128

#define F nacre_simd128_f
#define LANES ((size_t)NACRE_LANES_simd128)
#define V(name) nacre_simd128_##name
#define K(name) f32_blocks_##name##_simd128

#include "blocks/f32_blocks.inc"

const nacre_f32_blocks_impl *nacre_f32_blocks__simd128(void) {
    static const nacre_f32_blocks_impl impl = {nacre_unpack_scalar, K(dot)};
    return &impl;
}

#endif
