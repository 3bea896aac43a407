// Binary operations and comparisons for every type. Integers have no other
// variant: the compiler's vector code for the base instruction set serves.
#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"

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
