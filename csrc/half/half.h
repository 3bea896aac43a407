// Conversions of arrays between float and narrower types: the 16-bit float formats, and int8 codes
// with a scale. Rounding is to nearest, ties to even. A NaN stays a NaN.
#ifndef NACRE_HALF_HALF_H
#define NACRE_HALF_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "core/kernel.h"

const nacre_kernel *nacre_half_kernels(size_t *count);

// nacre_half_convert converts n elements of src to elements of dst.
typedef void nacre_half_convert(const void *src, void *dst, size_t n);

// nacre_half_transpose, of floats: dst[p*width + l] = src[l*lane + p] for p < k and l < lanes <=
// width.
typedef void nacre_half_transpose(size_t k, size_t lanes, const float *src, size_t lane, size_t width, float *dst);

// nacre_half_rows, of floats: dst[p*width + l] = src[p*step + l] for p < k and l < lanes, and 0 for
// lanes <= l < width.
typedef void nacre_half_rows(size_t k, size_t lanes, const float *src, size_t step, size_t width, float *dst);

// A row of n elements as int8 has n codes, then a scale for each block of NACRE_CODES_BLOCK codes, a
// bfloat16. An element is its code times the scale of its block. The last block may be shorter.
enum { NACRE_CODES_BLOCK = 32, NACRE_CODES_SCALE = 2 };  // elements; bytes of a scale

// nacre_codes_width returns the bytes of a row of n elements as int8.
static inline size_t nacre_codes_width(size_t n) {
    return n + (n + NACRE_CODES_BLOCK - 1) / NACRE_CODES_BLOCK * NACRE_CODES_SCALE;
}

// nacre_half_code stores n floats as a row of int8. The scale of a block is its largest magnitude /
// 127, rounded up. If an element is not finite, the codes of its block are 0 and the scale is NaN.
typedef void nacre_half_code(const float *src, void *row, size_t n);

// nacre_half_decode sets dst to n elements of a row of int8. codes is the first, at the start of a
// block, and scales has the scales from this block on.
typedef void nacre_half_decode(const void *codes, const void *scales, float *dst, size_t n);

// nacre_half holds the conversions of one level to float and from it, indexed by nacre_dtype. They
// copy f32 and convert f16 and bf16. A kernel row of op half has the signature nacre_half_fn.
typedef struct {
    nacre_half_convert *widen[NACRE_DTYPE_bf16 + 1], *narrow[NACRE_DTYPE_bf16 + 1];
    nacre_half_code *code;
    nacre_half_decode *decode;
    nacre_half_transpose *transpose;  // NULL if the level has none of its own
    nacre_half_rows *rows;            // likewise
} nacre_half;
typedef const nacre_half *nacre_half_fn(void);

static inline void nacre_half_copy(const void *src, void *dst, size_t n) { memcpy(dst, src, n * sizeof(float)); }

// nacre_half_scale returns the scale of a block with the bits of its largest magnitude; NaN if it is
// not finite.
static inline float nacre_half_scale(uint32_t top) {
    float scale;
    uint32_t bits;
    memcpy(&scale, &top, sizeof scale);
    scale = top < 0x7f800000u ? scale / 127 : __builtin_nanf("");
    memcpy(&bits, &scale, sizeof bits);
    if (scale > 0) bits = (bits + 0xffff) & 0xffff0000u;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

// NACRE_HALF_CODE defines nacre_code__<level>, which calls nacre_f32_to_codes__<level> for each block.
#define NACRE_HALF_CODE(level)                                                                              \
    static inline void nacre_code__##level(const float *src, void *row, size_t n) {                         \
        char *scales = (char *)row + n;                                                                     \
        for (size_t i = 0; i < n; i += NACRE_CODES_BLOCK, scales += NACRE_CODES_SCALE) {                    \
            const size_t m = n - i < NACRE_CODES_BLOCK ? n - i : NACRE_CODES_BLOCK;                         \
            const uint16_t scale = nacre_f32_to_bf16(nacre_f32_to_codes__##level(src + i, (int8_t *)row + i, m)); \
            memcpy(scales, &scale, sizeof scale);                                                           \
        }                                                                                                   \
    }

// NACRE_HALF_DECODE defines nacre_decode__<level>, which calls nacre_codes_to_f32__<level> for each
// block.
#define NACRE_HALF_DECODE(level)                                                                            \
    static inline void nacre_decode__##level(const void *codes, const void *scales, float *dst, size_t n) { \
        const int8_t *x = codes;                                                                            \
        const char *s = scales;                                                                             \
        uint16_t scale;                                                                                     \
        for (; n >= NACRE_CODES_BLOCK; s += NACRE_CODES_SCALE) {                                            \
            memcpy(&scale, s, sizeof scale);                                                                \
            nacre_codes_to_f32__##level(x, nacre_bf16_to_f32(scale), dst, NACRE_CODES_BLOCK);               \
            x += NACRE_CODES_BLOCK;                                                                         \
            dst += NACRE_CODES_BLOCK;                                                                       \
            n -= NACRE_CODES_BLOCK;                                                                         \
        }                                                                                                   \
        if (n == 0) return;                                                                                 \
        memcpy(&scale, s, sizeof scale);                                                                    \
        nacre_codes_to_f32__##level(x, nacre_bf16_to_f32(scale), dst, n);                                   \
    }

// NACRE_HALF_TABLE initialises widen or narrow with the conversions of f16 and bf16.
#define NACRE_HALF_TABLE(f16, bf16) \
    {[NACRE_DTYPE_f32] = nacre_half_copy, [NACRE_DTYPE_f16] = f16, [NACRE_DTYPE_bf16] = bf16}

#endif
