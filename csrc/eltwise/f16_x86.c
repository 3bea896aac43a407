// Functions of float16 in its own arithmetic, for 64-bit x86.
#include "core/halves.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"

#if NACRE_AVX512FP16
NACRE_TARGET_BEGIN(NACRE_AVX512)

enum { LANES = 32 };
typedef __m512i H;
#define C(bits) _mm512_set1_epi16((short)(bits))
#define ONE C(0x3c00)

static inline __mmask32 first(size_t n) { return (__mmask32)(((uint64_t)1 << n) - 1); }
static inline H pick(__mmask32 m, H a, H b) { return _mm512_mask_blend_epi16(m, b, a); }

// ---- of one number, and the parameters p and q ----

static inline H sign(H x) {
    const H zero = C(0), y = pick(nacre_f16_gt(x, zero), ONE, pick(nacre_f16_lt(x, zero), C(0xbc00), zero));
    return pick(nacre_f16_nan(x, x), x, y);
}

#define UNARY(name, expr)                                                                                  \
    void nacre_f16_##name##__avx512fp16(const void *px, void *py, size_t n, const void *params) {          \
        const uint16_t *from = px;                                                                         \
        uint16_t *to = py;                                                                                 \
        const H p = C(((const uint16_t *)params)[0]), q = C(((const uint16_t *)params)[1]);                \
        (void)p, (void)q;                                                                                  \
        for (; n >= LANES; n -= LANES, from += LANES, to += LANES) {                                       \
            const H x = _mm512_loadu_si512(from);                                                          \
            _mm512_storeu_si512(to, expr);                                                                 \
        }                                                                                                  \
        if (n == 0) return;                                                                                \
        const H x = _mm512_maskz_loadu_epi16(first(n), from);                                              \
        _mm512_mask_storeu_epi16(to, first(n), expr);                                                      \
    }
UNARY(abs, _mm512_and_si512(x, C(0x7fff)))
UNARY(neg, _mm512_xor_si512(x, C(0x8000)))
UNARY(sign, sign(x))
UNARY(relu, nacre_f16_max(C(0), x))
UNARY(clip, nacre_f16_min(q, nacre_f16_max(p, x)))
UNARY(sqrt, nacre_f16_sqrt(x))
UNARY(reciprocal, nacre_f16_div(ONE, x))
UNARY(floor, nacre_f16_floor(x))
UNARY(ceil, nacre_f16_ceil(x))
UNARY(round, nacre_f16_rint(x))

// ---- of two numbers ----

// The numbers of an operand from i on, of which it may have but one.
static inline H load(const uint16_t *x, size_t step, size_t i, __mmask32 m) { return step == 0 ? C(*x) : _mm512_maskz_loadu_epi16(m, x + i); }

// Stores those of the bytes that a comparison has.
static inline void store_tests(uint8_t *y, __mmask32 m, __mmask32 true_ones) {
    static const uint8_t ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    _mm256_mask_storeu_epi8(y, m, _mm256_maskz_loadu_epi8(true_ones, ones));
}

#define BINARY(name, R, store, expr)                                                                                                   \
    void nacre_f16_##name##__avx512fp16(const void *pa, size_t step_a, const void *pb, size_t step_b, void *py, size_t n) {            \
        R *const y = py;                                                                                                               \
        for (size_t i = 0; i < n; i += LANES) {                                                                                        \
            const __mmask32 m = first(n - i < LANES ? n - i : LANES);                                                                  \
            const H a = load(pa, step_a, i, m), b = load(pb, step_b, i, m);                                                            \
            store(y + i, m, expr);                                                                                                     \
        }                                                                                                                              \
    }
#define SAME(name, expr) BINARY(name, uint16_t, _mm512_mask_storeu_epi16, expr)
#define TEST(name) BINARY(name, uint8_t, store_tests, nacre_f16_##name(a, b))
SAME(add, nacre_f16_add(a, b))
SAME(sub, nacre_f16_sub(a, b))
SAME(mul, nacre_f16_mul(a, b))
SAME(div, nacre_f16_div(a, b))
SAME(min, pick(nacre_f16_nan(a, a), a, nacre_f16_min(a, b)))
SAME(max, pick(nacre_f16_nan(a, a), a, nacre_f16_max(a, b)))
SAME(prelu, pick(nacre_f16_lt(a, C(0)), nacre_f16_mul(a, b), a))
NACRE_HALF_TESTS(TEST)

NACRE_TARGET_END
#endif
