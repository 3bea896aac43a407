// The loops of every type for the base instruction set. For float32 they are the oracles of the
// vector variants.
#include <string.h>

#include "core/half.h"
#include "core/numbers.h"
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

// Binary operations and comparisons for every type. Integers have no other variant: the compiler's
// vector code for the base instruction set suffices, and one loop for each takes half of the
// compile time of three.

enum { BLOCK = 256 };

typedef void each_fn(const void *a, const void *b, void *y, size_t n);

// Computes y = f of n elements of a and of b. If either is one number, it is repeated for a block,
// so that f needs only one loop.
static __attribute__((noinline)) void binary(each_fn *f, size_t size, const void *a, size_t step_a, const void *b,
                                             size_t step_b, uint8_t *y, size_t size_y,
                   size_t n) {
    if (step_a != 0 && step_b != 0) {
        f(a, b, y, n);
    } else if (step_a != step_b) {
        uint64_t same[BLOCK];
        if (n > 0) memcpy(same, step_a == 0 ? a : b, size);
        nacre_repeat(same, size, nacre_min(n, BLOCK));
        const uint8_t *each = step_a == 0 ? b : a;
        for (size_t left = n; left > 0;) {
            const size_t now = nacre_min(left, BLOCK);
            f(step_a == 0 ? (const void *)same : each, step_b == 0 ? (const void *)same : each, y, now);
            each += now * size, y += now * size_y, left -= now;
        }
    } else if (n > 0) {
        f(a, b, y, 1);
        nacre_repeat(y, size_y, n);
    }
}

#define EACH(function, T, R, expr)                                                    \
    static void function(const void *pa, const void *pb, void *py, size_t n) {        \
        const T *const pa_ = pa, *const pb_ = pb;                                     \
        R *const py_ = py;                                                            \
        NACRE_EACH_OF(T) {                                                            \
            const T a = pa_[i], b = pb_[i];                                           \
            py_[i] = (R)(expr);                                                       \
        }                                                                             \
    }
#define BINARY(function, T, R, f)                                                                     \
    void function(const void *pa, size_t step_a, const void *pb, size_t step_b, void *py, size_t n) { \
        binary(f, sizeof(T), pa, step_a, pb, step_b, py, sizeof(R), n);                               \
    }
#define ROW(t, T, R, name, expr)           \
    EACH(each_##t##_##name, T, R, expr)    \
    BINARY(nacre_##t##_##name##__scalar, T, R, each_##t##_##name)
#define SAME(t, T, name, expr) ROW(t, T, T, name, expr)
#define TEST(t, T, name, expr) ROW(t, T, uint8_t, name, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_ARITHMETIC(SAME, t, T)      \
    NACRE_KIND_##kind(SAME, t, T)     \
    NACRE_COMPARE(TEST, t, T)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
SAME(f32, float, fmod, fmodf(a, b))
SAME(f64, double, fmod, fmod(a, b))

// Networks mostly raise to a constant. Powers that are one or two multiplications do without a call
// for each element.
#define POWER(t, T, pow)                                                                               \
    EACH(power_##t##_any, T, T, pow(a, b))                                                             \
    EACH(power_##t##_square, T, T, ((void)b, a *a))                                                    \
    EACH(power_##t##_cube, T, T, ((void)b, a *a *a))                                                   \
    static each_fn *power_##t(const T *b, size_t step_b) {                                             \
        const T power = step_b == 0 ? *b : 0;                                                          \
        return power == 2 ? power_##t##_square : power == 3 ? power_##t##_cube : power_##t##_any;      \
    }                                                                                                  \
    BINARY(nacre_##t##_pow__scalar, T, T, power_##t(pb, step_b))
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
#undef ROW
#undef POWER
#undef BINARY
#undef EACH

// Conversions between element types. float16 and bfloat16 convert to and from float32 only
// (half/half.h); nacre_eltwise_map joins two conversions.

#define ROW(s, S, d, D, expr) NACRE_CONVERT_LOOP(nacre_##s##_to_##d##__scalar, S, D, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_CONVERSIONS(ROW, t, T, kind) \
    NACRE_CONVERT_LOOP(nacre_bool_to_##t##__scalar, uint8_t, T, x != 0)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
#undef ROW

NACRE_CONVERT_LOOP(nacre_f64_to_odd__scalar, double, float, nacre_narrow_odd(x))

// Selection by element width: the elements are only moved.

typedef struct {
    uint64_t half[2];
} nacre_pair64;

typedef void pick_fn(const uint8_t *cond, const void *a, const void *b, void *y, size_t n);

// Returns the source of n elements: x, or if x is one element, a block of it in same.
static const void *where_source(const void *x, size_t step, size_t size, void *same, size_t n) {
    if (step != 0) return x;
    memcpy(same, x, size);
    nacre_repeat(same, size, nacre_min(n, BLOCK));
    return same;
}

// Computes y = f of n elements of cond, a and b. If one of them is a single element, it is repeated
// for a block, so that f needs only one loop.
static __attribute__((noinline)) void where(pick_fn *f, size_t size, const uint8_t *cond, size_t step_cond,
                                            const void *a, size_t step_a,
                                            const void *b, size_t step_b, uint8_t *y, size_t n) {
    nacre_pair64 same_a[BLOCK], same_b[BLOCK];
    uint8_t same_cond[BLOCK];
    if (n == 0) return;
    const uint8_t *each_cond = where_source(cond, step_cond, 1, same_cond, n);
    const uint8_t *each_a = where_source(a, step_a, size, same_a, n),
        *each_b = where_source(b, step_b, size, same_b, n);
    const size_t most = step_cond != 0 && step_a != 0 && step_b != 0 ? n : BLOCK;
    for (size_t left = n; left > 0;) {
        const size_t now = nacre_min(left, most);
        f(each_cond, each_a, each_b, y, now);
        each_cond += now * step_cond, each_a += now * step_a * size, each_b += now * step_b * size;
        y += now * size, left -= now;
    }
}

// Both elements are read and the bits of one kept, so that no branch depends on the condition.
#define PICK(T, c, u, v) ((T)(v ^ ((u ^ v) & (T)-(T)(c))))
#define PICK_PAIR(T, c, u, v) ((c) ? u : v)
#define WHERE(name, T, KEEP)                                                                                \
    static void pick_##name(const uint8_t *cond, const void *pa, const void *pb, void *py, size_t n) {      \
        const T *const a = pa, *const b = pb;                                                               \
        T *const y = py;                                                                                    \
        NACRE_EACH {                                                                                        \
            const T u = a[i], v = b[i];                                                                     \
            y[i] = KEEP(T, cond[i] != 0, u, v);                                                             \
        }                                                                                                   \
    }                                                                                                       \
    void nacre_where_##name##__scalar(const uint8_t *cond, size_t step_cond, const void *a, size_t step_a,  \
                                      const void *b, size_t step_b, void *y, size_t n) {                    \
        where(pick_##name, sizeof(T), cond, step_cond, a, step_a, b, step_b, y, n);                         \
    }
WHERE(1, uint8_t, PICK)
WHERE(2, uint16_t, PICK)
WHERE(4, uint32_t, PICK)
WHERE(8, uint64_t, PICK)
WHERE(16, nacre_pair64, PICK_PAIR)
#undef WHERE
#undef PICK
#undef PICK_PAIR
