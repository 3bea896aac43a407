// The loops of every type for the base instruction set; of float32 they are the oracles of the vector variants.
#include "core/half.h"
#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"

// Unary functions for every type; for float32 the oracle of the vector variants.

#define SAME(t, T, name, expr) NACRE_UNARY_LOOP(nacre_##t##_##name##__scalar, T, T, expr)
#define TEST(t, T, name, expr) NACRE_UNARY_LOOP(nacre_##t##_##name##__scalar, T, uint8_t, expr)
#define NACRE_UNARY_FLOAT(ROW, t, T)   \
    NACRE_UNARY_FLOAT_VECTOR(ROW, t, T) \
    NACRE_UNARY_FLOAT_LIBRARY(ROW, t, T) \
    NACRE_UNARY_FLOAT_TEST(TEST, t, T)
#define NACRE_DTYPE(t, name, T, kind) NACRE_UNARY_##kind(SAME, t, T)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
NACRE_UNARY_BITS(SAME, u8, uint8_t)
NACRE_UNARY_BITS(SAME, u16, uint16_t)
NACRE_UNARY_BITS(SAME, u32, uint32_t)
NACRE_UNARY_BITS(SAME, u64, uint64_t)
NACRE_UNARY_LOGIC(TEST, bool, uint8_t)
#undef NACRE_UNARY_FLOAT
#undef SAME
#undef TEST

// Binary operations and comparisons for every type. Integers have no other
// variant: the compiler's vector code for the base instruction set serves.

#define SAME(t, T, name, expr) NACRE_BINARY_LOOP(nacre_##t##_##name##__scalar, T, T, expr)
#define TEST(t, T, name, expr) NACRE_BINARY_LOOP(nacre_##t##_##name##__scalar, T, uint8_t, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_ARITHMETIC(SAME, t, T)      \
    NACRE_KIND_##kind(SAME, t, T)     \
    NACRE_COMPARE(TEST, t, T)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
NACRE_BINARY_LOOP(nacre_f32_fmod__scalar, float, float, fmodf(a, b))
NACRE_BINARY_LOOP(nacre_f64_fmod__scalar, double, double, fmod(a, b))

// Networks mostly raise to a constant: the powers that are one or two
// multiplications are not worth a call for each element.
#define POWER(t, T, pow)                                                                                       \
    static NACRE_BINARY_LOOP(power_##t##_any, T, T, pow(a, b))                                                 \
    static NACRE_BINARY_LOOP(power_##t##_square, T, T, ((void)b, a *a))                                        \
    static NACRE_BINARY_LOOP(power_##t##_cube, T, T, ((void)b, a *a *a))                                       \
    void nacre_##t##_pow__scalar(const void *a, size_t step_a, const void *b, size_t step_b, void *y, size_t n) { \
        const T power = step_b == 0 ? *(const T *)b : 0;                                                       \
        if (power == 2) {                                                                                      \
            power_##t##_square(a, step_a, b, step_b, y, n);                                                    \
        } else if (power == 3) {                                                                               \
            power_##t##_cube(a, step_a, b, step_b, y, n);                                                      \
        } else {                                                                                               \
            power_##t##_any(a, step_a, b, step_b, y, n);                                                       \
        }                                                                                                      \
    }
POWER(f32, float, powf)
POWER(f64, double, pow)
#undef POWER
NACRE_POWER_SIGNED(SAME, i64, int64_t)
NACRE_BITS(SAME, u8, uint8_t)
NACRE_BITS(SAME, u16, uint16_t)
NACRE_BITS(SAME, u32, uint32_t)
NACRE_BITS(SAME, u64, uint64_t)
NACRE_LOGIC(TEST, bool, uint8_t)
#undef SAME
#undef TEST

// Conversions between element types. float16 and bfloat16 convert to and from
// float32 only (half/half.h); nacre_eltwise_map joins two conversions.

#define ROW(s, S, d, D, expr) NACRE_CONVERT_LOOP(nacre_##s##_to_##d##__scalar, S, D, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_CONVERSIONS(ROW, t, T, kind) \
    NACRE_CONVERT_LOOP(nacre_bool_to_##t##__scalar, uint8_t, T, x != 0)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
#undef ROW

// Rounds to the neighbour with an odd last bit unless x is exact: rounding that
// again, to at most 22 bits, gives what rounding x once would.
static inline float nacre_narrow_odd(double x) {
    const float f = (float)x;
    if ((double)f == x || x != x) return f;
    const uint32_t bits = nacre_bits_of_float(f);
    return nacre_float_of_bits((fabs((double)f) > fabs(x) ? bits - 1 : bits) | 1);
}

NACRE_CONVERT_LOOP(nacre_f64_to_odd__scalar, double, float, nacre_narrow_odd(x))

// Selection by element width: the elements are only moved.

typedef struct {
    uint64_t half[2];
} nacre_pair64;

// One loop per way of stepping, so that each can be made vector code.
#define LOOP(C, A, B)                                        \
    {                                                        \
        NACRE_EACH y[i] = cond[i * (C)] != 0 ? a[i * (A)] : b[i * (B)]; \
        return;                                              \
    }
#define WHERE(name, T)                                                                                      \
    void nacre_where_##name##__scalar(const uint8_t *cond, size_t step_cond, const void *pa, size_t step_a, \
                                      const void *pb, size_t step_b, void *py, size_t n) {                  \
        const T *const a = pa, *const b = pb;                                                               \
        T *const y = py;                                                                                    \
        if (step_cond != 0 && step_a != 0 && step_b != 0) LOOP(1, 1, 1)                                     \
        if (step_cond != 0 && step_a != 0) LOOP(1, 1, 0)                                                    \
        if (step_cond != 0 && step_b != 0) LOOP(1, 0, 1)                                                    \
        LOOP(step_cond, step_a, step_b)                                                                     \
    }
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)
WHERE(16, nacre_pair64)
#undef WHERE
#undef LOOP
