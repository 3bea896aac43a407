// The variants of f32_blocks for 64-bit ARM. Blocks are unpacked as in scalar.c.
#include "blocks/blocks.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define V(name) nacre_neon_##name
#define K(name) f32_blocks_##name##_neon

NACRE_BEGIN_neon

#include "blocks/f32_blocks.inc"

NACRE_END_neon

const nacre_f32_blocks_impl *nacre_f32_blocks__neon(void) {
    static const nacre_f32_blocks_impl impl = {nacre_unpack_scalar, K(dot)};
    return &impl;
}

#endif
