// Elements of scales, zero points and codes of any type.
#ifndef NACRE_QUANT_NUMBERS_H
#define NACRE_QUANT_NUMBERS_H

#include <math.h>
#include <string.h>

#include "quant/quant.h"

static inline int quant_is_signed(nacre_dtype type) { return nacre_dtype_kind(type) == NACRE_SIGNED; }

// Reports whether codes of a type index a table of the numbers that they stand for.
static inline int quant_is_looked_up(nacre_dtype type) { return nacre_dtype_kind(type) == NACRE_FLOAT; }

// Returns element i of an array of integers of fewer than 8 bits.
static inline int32_t quant_narrow(const uint8_t *x, size_t i, size_t bits, int is_signed) {
    const size_t at = i * bits / 8, shift = i * bits % 8;
    unsigned v = x[at] >> shift;
    if (shift + bits > 8) v |= (unsigned)x[at + 1] << (8 - shift);
    const int32_t code = (int32_t)(v & ((1u << bits) - 1)), sign = is_signed ? 1 << (bits - 1) : 0;
    return (code ^ sign) - sign;
}

static inline uint16_t quant_bits16(const void *x, size_t i) { return ((const uint16_t *)x)[i]; }

// Returns element i of an array of an integer type.
static inline int32_t quant_integer(nacre_dtype type, const void *x, size_t i) {
    const uint8_t *const b = x;
    switch (type) {
        case NACRE_DTYPE_u8: return b[i];
        case NACRE_DTYPE_i8: return (int8_t)b[i];
        case NACRE_DTYPE_u16: return quant_bits16(x, i);
        case NACRE_DTYPE_i16: return (int16_t)quant_bits16(x, i);
        case NACRE_DTYPE_i32: return ((const int32_t *)x)[i];
        default: return quant_narrow(b, i, nacre_dtype_bits(type), quant_is_signed(type));
    }
}

// Returns element i of an array of a type of scales.
static inline float quant_float(nacre_dtype type, const void *x, size_t i) {
    switch (type) {
        case NACRE_DTYPE_f16: return nacre_f16_to_f32(quant_bits16(x, i));
        case NACRE_DTYPE_bf16: return nacre_bf16_to_f32(quant_bits16(x, i));
        case NACRE_DTYPE_f8e8m0: {
            const uint8_t e = ((const uint8_t *)x)[i];
            return e == 255 ? NAN : ldexpf(1, (int)e - 127);
        }
        case NACRE_DTYPE_i32: return (float)((const int32_t *)x)[i];
        default: return ((const float *)x)[i];
    }
}

// The scale and the zero point of a whole tensor.
typedef struct {
    float scale;
    int32_t zero;
} quant_tensor;

// Returns the numbers in operands i and i+1 of a command.
static inline quant_tensor quant_tensor_of(const nacre_call *c, size_t i, int64_t scale, nacre_dtype zero) {
    const void *const s = nacre_operand(c, i), *const z = nacre_operand(c, i + 1);
    return (quant_tensor){s == NULL ? 1 : quant_float((nacre_dtype)scale, s, 0),
                          z == NULL ? 0 : quant_integer(zero, z, 0)};
}

// The zero points and scales of the rows (0) and of the columns (1) of a product.
typedef struct {
    int32_t *zeros[2];
    float *scales[2];
} quant_vectors;

// Lays out vectors of count numbers from scratch + *bytes on, and adds their size to *bytes.
// scratch may be NULL.
static inline quant_vectors quant_place_vectors(const size_t count[2], char *scratch, size_t *bytes) {
    quant_vectors v;
    for (size_t i = 0; i < 2; i++) {
        const size_t size = nacre_align_bytes(count[i] * 4);
        v.zeros[i] = (int32_t *)(void *)(scratch + *bytes);
        v.scales[i] = (float *)(void *)(scratch + *bytes + size);
        *bytes += 2 * size;
    }
    return v;
}

// The numbers of a command's operands that are a, bias and c of a product.
typedef struct {
    size_t a, bias, c;
} quant_product_operands;

static inline void quant_set_product(nacre_i8_gemm *g, const nacre_call *call, quant_product_operands of,
                                     const quant_vectors *v, int32_t zero) {
    g->a.data = nacre_operand(call, of.a);
    g->bias = nacre_operand(call, of.bias);
    g->c = nacre_operand(call, of.c);
    g->a_zero = v->zeros[0];
    g->b_zero = v->zeros[1];
    g->row_scale = v->scales[0];
    g->col_scale = v->scales[1];
    g->zero = zero;
}

#endif
