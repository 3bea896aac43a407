// Functions of float16 computed in float32 and rounded: the oracle of float16 arithmetic.
#include "core/half.h"
#include "eltwise/eltwise.h"
#include "eltwise/ops.inc"

#define UNARY(name)                                                                                        \
    void nacre_f32_##name##__scalar(const void *, void *, size_t, const void *);                           \
    void nacre_f16_##name##__scalar(const void *px, void *py, size_t n, const void *params) {              \
        const uint16_t *const x = px, *const given = params;                                               \
        uint16_t *const y = py;                                                                            \
        const float wide[] = {nacre_f16_to_f32(given[0]), nacre_f16_to_f32(given[1])};                     \
        for (size_t i = 0; i < n; i++) {                                                                   \
            float v = nacre_f16_to_f32(x[i]);                                                              \
            nacre_f32_##name##__scalar(&v, &v, 1, wide);                                                   \
            y[i] = nacre_f32_to_f16(v);                                                                    \
        }                                                                                                  \
    }
NACRE_HALF_UNARY(UNARY)

#define BINARY(name, R, T, of_result)                                                                                    \
    void nacre_f32_##name##__scalar(const void *, size_t, const void *, size_t, void *, size_t);                         \
    void nacre_f16_##name##__scalar(const void *pa, size_t step_a, const void *pb, size_t step_b, void *py, size_t n) {  \
        const uint16_t *const a = pa, *const b = pb;                                                                     \
        R *const y = py;                                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                                 \
            const float u = nacre_f16_to_f32(a[i * step_a]), v = nacre_f16_to_f32(b[i * step_b]);                        \
            T w;                                                                                                         \
            nacre_f32_##name##__scalar(&u, 1, &v, 1, &w, 1);                                                             \
            y[i] = of_result(w);                                                                                         \
        }                                                                                                                \
    }
#define SAME(name) BINARY(name, uint16_t, float, nacre_f32_to_f16)
#define TEST(name) BINARY(name, uint8_t, uint8_t, )
NACRE_HALF_BINARY(SAME)
NACRE_HALF_TESTS(TEST)
