// Elements of operands of a type that a word gives.
#ifndef NACRE_ATTENTION_ELEMENTS_H
#define NACRE_ATTENTION_ELEMENTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "half/half.h"

// nacre_element_size returns the bytes of an element.
static inline size_t nacre_element_size(int64_t type) { return nacre_dtype_bits((nacre_dtype)type) / 8; }

// Returns the address of element i.
static inline const void *nacre_element_at(const void *x, int64_t type, int64_t i) {
    return (const char *)x + i * (int64_t)nacre_element_size(type);
}

// Returns the elements of a row of d in a cache. A row of int8 has scales after its codes.
static inline int64_t nacre_cache_width(int64_t type, int64_t d) {
    return type == NACRE_DTYPE_i8 ? (int64_t)nacre_codes_width((size_t)d) : d;
}

// Returns the scale of element i in a row of d; 1 for floats.
static inline float nacre_row_scale(const void *row, int64_t type, int64_t d, int64_t i) {
    uint16_t scale;
    if (type != NACRE_DTYPE_i8) return 1;
    memcpy(&scale, (const char *)row + d + i / NACRE_CODES_BLOCK * NACRE_CODES_SCALE, sizeof scale);
    return nacre_bf16_to_f32(scale);
}

// Returns element i of an array of integers.
static inline int64_t nacre_element_int(const void *x, int64_t type, int64_t i) {
    switch (type) {
    case NACRE_DTYPE_bool: case NACRE_DTYPE_u8: return ((const uint8_t *)x)[i];
    case NACRE_DTYPE_i8: return ((const int8_t *)x)[i];
    case NACRE_DTYPE_i16: return ((const int16_t *)x)[i];
    case NACRE_DTYPE_i32: return ((const int32_t *)x)[i];
    }
    return ((const int64_t *)x)[i];
}

// Returns element i of an array of any type as a number.
static inline double nacre_element_number(const void *x, int64_t type, int64_t i) {
    switch (type) {
    case NACRE_DTYPE_f32: return ((const float *)x)[i];
    case NACRE_DTYPE_f64: return ((const double *)x)[i];
    case NACRE_DTYPE_f16: return nacre_f16_to_f32(((const uint16_t *)x)[i]);
    case NACRE_DTYPE_bf16: return nacre_bf16_to_f32(((const uint16_t *)x)[i]);
    }
    return (double)nacre_element_int(x, type, i);
}

// Returns the number that element i of an attention mask adds to a score; false adds -infinity.
static inline double nacre_element_bias(const void *x, int64_t type, int64_t i) {
    if (type == NACRE_DTYPE_bool) return ((const uint8_t *)x)[i] ? 0 : -INFINITY;
    return nacre_element_number(x, type, i);
}

#endif
