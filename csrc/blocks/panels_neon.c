// The variants of f32_block_panels and i8_block_panels for 64-bit ARM.
#include "blocks/forms.h"
#include "core/simd.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_LANES_neon)
#define LANES_N NACRE_LANES_neon
#define V(name) nacre_neon_##name
#define K(name) f32_panels_##name##_neon
#define WIDENED(p) ((W)panels_widened_neon(p))
#define LOOKUP(t, v) ((W)vqtbl1q_u8((uint8x16_t)(t), (uint8x16_t)(v)))
#define TABLES 0
#define NUMBER(t, v) (t).low
#define SIXTEEN(t, v) (t)
#define FAR 1024
#define SIZES(X) X(8) X(4) X(1)
#define MOST 8

NACRE_INLINE uint32x4_t panels_widened_neon(const uint8_t *p) {
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
}

#include "blocks/panels_slab.inc"

#include "blocks/panels_f32.inc"

const nacre_block_panels_impl *nacre_f32_block_panels__neon(void) { return &K(impl); }

#define CENTRED(f) 1
#define WIDES 0
#define R(name) i8_panels_##name##_neon
#define DOT(d, v, q, wide) R(multiply)(d, (int8x16_t)(v), (int8x16_t)(q))

NACRE_INLINE W R(multiply)(W d, int8x16_t v, int8x16_t q) {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(v), vget_low_s8(q)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(v), vget_high_s8(q)));
    return d + (W)vpaddq_s32(low, high);
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__neon(void) { return &R(impl); }

#undef R
#define R(name) i8_panels_##name##_dotprod

NACRE_TARGET_BEGIN(NACRE_DOTPROD)

// Compilers offer the intrinsic only if flags of the whole file allow it.
NACRE_INLINE W R(multiply)(W d, int8x16_t v, int8x16_t q) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(d) : "w"(v), "w"(q));
    return d;
}

#include "blocks/panels_i8.inc"

const nacre_block_panels_impl *nacre_i8_block_panels__dotprod(void) { return &R(impl); }

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_I8MM)

// Adds to d, two rows of two columns, the products of eight bytes of two rows and of two columns.
NACRE_INLINE W panels_by_two_i8mm(W d, W rows, W columns) {
    __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(d) : "w"(rows), "w"(columns));
    return d;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define PAIRS(X) X(0, 0, 1) X(1, 2, 3) X(2, 4, 5) X(3, 6, 7)

// Computes a constant even number of rows, at most 8. The sum over a group is exact.
NACRE_INLINE void i8_panels_pairs_i8mm(size_t rows, const nacre_block_form *f, const nacre_block_slabs *s, size_t groups, const uint8_t *x,
                                       float *y) {
    const int add = nacre_block_adds(f) || nacre_block_zeros(f);
    const uint8_t *codes = s->codes;
#define LOAD(r) F sum##r = V(load)(y + (r < rows ? r : 0) * LANES);
    EACH(LOAD)
#undef LOAD
    for (size_t g = 0; g < groups; g++) {
        const uint8_t *const end = codes + f->group * LANES, *const tail = x + f->group * rows;
#define START(p, r, next) W low##p = ALL(0), high##p = ALL(0);
        PAIRS(START)
#undef START
        for (; codes < end; codes += 2 * STEP_BYTES, x += 8 * rows) {
            const W a = K(words)(codes), b = K(words)(codes + STEP_BYTES);
            const W low = vzip1q_u32(a, b), high = vzip2q_u32(a, b);
#define MULTIPLY(p, r, next)                                                                      \
    if (r < rows) {                                                                               \
        const uint32x2_t four = vreinterpret_u32_u8(vld1_u8(x + 4 * r));                          \
        const uint32x2_t more = vreinterpret_u32_u8(vld1_u8(x + 4 * rows + 4 * r));               \
        const W both = vcombine_u32(vzip1_u32(four, more), vzip2_u32(four, more));                \
        low##p = panels_by_two_i8mm(low##p, both, low);                                           \
        high##p = panels_by_two_i8mm(high##p, both, high);                                        \
    }
            PAIRS(MULTIPLY)
#undef MULTIPLY
        }
        const F scale = V(load)(s->scales + g * LANES), term = V(load)((add ? s->adds : s->scales) + g * LANES);
#define ADD(r, d)                                                                            \
    sum##r = V(fma)(K(floats)(i8_panels_word_at_neon(tail + 4 * r) + d),                     \
                    V(mul)(scale, i8_panels_float_at_neon(tail + 4 * (rows + r))), sum##r);  \
    if (add) sum##r = V(fma)(term, i8_panels_float_at_neon(tail + 4 * (2 * rows + r)), sum##r);
#define BOTH(p, r, next)                                                           \
    if (r < rows) {                                                                \
        ADD(r, vcombine_u32(vget_low_u32(low##p), vget_low_u32(high##p)))          \
        ADD(next, vcombine_u32(vget_high_u32(low##p), vget_high_u32(high##p)))     \
    }
        PAIRS(BOTH)
#undef BOTH
#undef ADD
        x = tail + 12 * rows;
    }
#define STORE(r) \
    if (r < rows) V(store)(y + r * LANES, sum##r);
    EACH(STORE)
#undef STORE
}

#undef PAIRS
#undef EACH

static void i8_panels_dot_i8mm(const nacre_block_form *f, const nacre_block_slabs *s, size_t groups, size_t rows, const uint8_t *x, float *y) {
    switch (rows) {
    case 8: i8_panels_pairs_i8mm(8, f, s, groups, x, y); break;
    case 4: i8_panels_pairs_i8mm(4, f, s, groups, x, y); break;
    default: R(dot)(f, s, groups, rows, x, y);
    }
}

// Single rows have no pair, and are computed as with dot products.
const nacre_block_panels_impl *nacre_i8_block_panels__i8mm(void) {
    static const nacre_block_panels_impl impl = {LANES_N, MOST, 1, 12, R(arrange), R(expand), i8_panels_dot_i8mm, R(row), NULL};
    return &impl;
}

NACRE_TARGET_END
#endif
