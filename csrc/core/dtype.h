// The numbers of element types, in words of commands and in kernels.
#ifndef NACRE_CORE_DTYPE_H
#define NACRE_CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

// nacre_dtype is an element type. Its number is that of runtime/tensor. Words give an operand that
// is left out the type f32.
typedef enum {
    NACRE_DTYPE_invalid,
#define NACRE_DTYPE(t, name, T, kind) NACRE_DTYPE_##t,
#define NACRE_STORED(t, name, bits, kind) NACRE_DTYPE_##t,
#include "core/dtypes.inc"
#undef NACRE_DTYPE
} nacre_dtype;

typedef enum { NACRE_NO_KIND, NACRE_FLOAT, NACRE_SIGNED, NACRE_UNSIGNED, NACRE_BOOLEAN, NACRE_TEXT,
              NACRE_COMPLEX } nacre_kind;

// nacre_dtype_bits returns the bits of an element, 0 for strings.
static inline size_t nacre_dtype_bits(nacre_dtype type) {
    static const uint8_t list[] = {
        0,
#define NACRE_DTYPE(t, name, T, kind) 8 * sizeof(T),
#define NACRE_STORED(t, name, bits, kind) bits,
#include "core/dtypes.inc"
#undef NACRE_DTYPE
    };
    return list[type];
}

static inline nacre_kind nacre_dtype_kind(nacre_dtype type) {
    static const uint8_t list[] = {
        NACRE_NO_KIND,
#define NACRE_DTYPE(t, name, T, kind) NACRE_##kind,
#define NACRE_STORED(t, name, bits, kind) NACRE_##kind,
#include "core/dtypes.inc"
#undef NACRE_DTYPE
    };
    return (nacre_kind)list[type];
}

#endif
