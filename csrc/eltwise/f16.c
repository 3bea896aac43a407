// Functions of float16 in float16 arithmetic, for levels that have it.
#include <string.h>

#include "core/half_vec.h"
#include "core/numbers.h"
#include "eltwise/ops.inc"

#ifdef NACRE_F16_LEVEL

NACRE_F16_BEGIN

enum { LANES = NACRE_F16_LANES };
typedef nacre_f16 H;
#define NAME(name) NAME_(name, NACRE_F16_LEVEL)
#define NAME_(name, level) NAME__(name, level)
#define NAME__(name, level) nacre_f16_##name##__##level
#define C(bits) nacre_f16_set(bits)
#define ZERO C(0)
#define ONE C(0x3c00)
#define MINUS_ONE C(0xbc00)

// larger returns a if it is larger or NaN, smaller if it is smaller or NaN; else b.
NACRE_INLINE H larger(H a, H b) {
    return nacre_f16_pick(nacre_f16_eq(a, a), nacre_f16_pick(nacre_f16_gt(a, b), a, b), a);
}
NACRE_INLINE H smaller(H a, H b) {
    return nacre_f16_pick(nacre_f16_eq(a, a), nacre_f16_pick(nacre_f16_gt(b, a), a, b), a);
}

// ---- of one number, and the parameters p and q ----

NACRE_INLINE H clip(H x, H p, H q) {
    const H low = nacre_f16_pick(nacre_f16_gt(p, x), p, x);
    return nacre_f16_pick(nacre_f16_gt(low, q), q, low);
}

NACRE_INLINE H sign(H x) {
    const H small = nacre_f16_pick(nacre_f16_gt(ZERO, x), MINUS_ONE, nacre_f16_pick(nacre_f16_eq(x, ZERO), ZERO, x));
    return nacre_f16_pick(nacre_f16_gt(x, ZERO), ONE, small);
}

#define UNARY(name, expr)                                                                 \
    void NAME(name)(const void *px, void *py, size_t n, const void *params) {             \
        const uint16_t *from = px, *const given = params;                                 \
        uint16_t *to = py;                                                                \
        const H p = C(given[0]), q = C(given[1]);                                         \
        (void)p, (void)q;                                                                 \
        for (; n >= LANES; n -= LANES, from += LANES, to += LANES) {                      \
            const H x = nacre_f16_load(from);                                             \
            nacre_f16_store(to, expr);                                                    \
        }                                                                                 \
        if (n == 0) return;                                                               \
        uint16_t rest[LANES] = {0};                                                       \
        memcpy(rest, from, n * sizeof *rest);                                             \
        const H x = nacre_f16_load(rest);                                                 \
        nacre_f16_store(rest, expr);                                                      \
        memcpy(to, rest, n * sizeof *rest);                                               \
    }
UNARY(abs, nacre_f16_and(x, C(0x7fff)))
UNARY(neg, nacre_f16_xor(x, C(0x8000)))
UNARY(sign, sign(x))
UNARY(relu, nacre_f16_pick(nacre_f16_gt(ZERO, x), ZERO, x))
UNARY(clip, clip(x, p, q))
UNARY(sqrt, nacre_f16_sqrt(x))
UNARY(reciprocal, nacre_f16_div(ONE, x))
UNARY(floor, nacre_f16_floor(x))
UNARY(ceil, nacre_f16_ceil(x))
UNARY(round, nacre_f16_rint(x))

// ---- of two numbers ----

// Returns n numbers of an operand, fewer than a vector, as a whole vector in rest, filled with
// zeros.
static const uint16_t *filled(const uint16_t *x, size_t n, uint16_t *rest) {
    memset(rest, 0, LANES * sizeof *rest);
    memcpy(rest, x, n * sizeof *rest);
    return rest;
}

#define BINARY(name, R, store, expr)                                                                      \
    void NAME(name)(const void *pa, size_t step_a, const void *pb, size_t step_b, void *py, size_t n) {   \
        const uint16_t *from_a = pa, *from_b = pb;                                                        \
        R *to = py, rest[LANES];                                                                          \
        uint16_t rest_a[LANES], rest_b[LANES];                                                            \
        const H one_a = C(*from_a), one_b = C(*from_b);                                                   \
        for (size_t now; n > 0; n -= now, from_a += step_a * now, from_b += step_b * now, to += now) {    \
            now = nacre_min(n, LANES);                                                                    \
            if (now < LANES && step_a != 0) from_a = filled(from_a, now, rest_a);                         \
            if (now < LANES && step_b != 0) from_b = filled(from_b, now, rest_b);                         \
            const H a = step_a == 0 ? one_a : nacre_f16_load(from_a);                                     \
            const H b = step_b == 0 ? one_b : nacre_f16_load(from_b);                                     \
            store(now < LANES ? rest : to, expr);                                                         \
            if (now < LANES) memcpy(to, rest, now * sizeof *rest);                                        \
        }                                                                                                 \
    }
#define SAME(name, expr) BINARY(name, uint16_t, nacre_f16_store, expr)
#define TEST(name) BINARY(name, uint8_t, nacre_f16_store_tests, nacre_f16_##name(a, b))
SAME(add, nacre_f16_add(a, b))
SAME(sub, nacre_f16_sub(a, b))
SAME(mul, nacre_f16_mul(a, b))
SAME(div, nacre_f16_div(a, b))
SAME(min, smaller(a, b))
SAME(max, larger(a, b))
SAME(prelu, nacre_f16_pick(nacre_f16_gt(ZERO, a), nacre_f16_mul(a, b), a))
NACRE_HALF_TESTS(TEST)

NACRE_F16_END

#endif
