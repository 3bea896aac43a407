// The instructions of half_vec.h as C. A float16 is computed as a float32 and rounded. For these
// operations the result is the same, because a float32 has 2 * 11 + 2 digits, and a float16 has 11.
// Include inside a target region.
#ifndef NACRE_CORE_HALF_VEC_EMULATED_H
#define NACRE_CORE_HALF_VEC_EMULATED_H

#define CALLED static __attribute__((noinline, unused))

// nacre_bf16_normal returns the float32 of the given bits. Subnormal numbers become zeros.
static inline float nacre_bf16_normal(uint32_t bits) {
    float y;
    if ((bits & 0x7f800000) == 0) bits &= 0x80000000;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline float nacre_bf16_add_product(float sum, uint32_t a, uint32_t b) {
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    sum = __builtin_fmaf(nacre_bf16_normal(a), nacre_bf16_normal(b), nacre_bf16_normal(bits));
    memcpy(&bits, &sum, sizeof bits);
    return nacre_bf16_normal(bits);
}

CALLED void nacre_bf16_add_products(__m512 *sum, __m512i a, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    nacre_512 s = {.ps = *sum};
    for (size_t i = 0; i < 16; i++) {
        s.f32[i] = nacre_bf16_add_product(s.f32[i], x.u32[i] & 0xffff0000, y.u32[i] & 0xffff0000);
        s.f32[i] = nacre_bf16_add_product(s.f32[i], x.u32[i] << 16, y.u32[i] << 16);
    }
    *sum = s.ps;
}

#define NACRE_F16_OF_ONE(name, expr)                                   \
    CALLED __m512i nacre_f16_##name(__m512i va) {                      \
        const nacre_512 x = {.si = va};                                \
        nacre_512 z;                                                   \
        for (size_t i = 0; i < 4; i++) {                               \
            const __m256 a = _mm256_cvtph_ps(x.si4[i]);                \
            z.si4[i] = _mm256_cvtps_ph(expr, _MM_FROUND_TO_NEAREST_INT); \
        }                                                              \
        return z.si;                                                   \
    }
#define NACRE_F16_OF_TWO(name, expr)                                                     \
    CALLED __m512i nacre_f16_##name(__m512i va, __m512i vb) {                            \
        const nacre_512 x = {.si = va}, y = {.si = vb};                                  \
        nacre_512 z;                                                                     \
        for (size_t i = 0; i < 4; i++) {                                                 \
            const __m256 a = _mm256_cvtph_ps(x.si4[i]), b = _mm256_cvtph_ps(y.si4[i]);   \
            z.si4[i] = _mm256_cvtps_ph(expr, _MM_FROUND_TO_NEAREST_INT);                 \
        }                                                                                \
        return z.si;                                                                     \
    }
#define NACRE_F16_TEST(name, how)                                                        \
    CALLED __mmask32 nacre_f16_##name(__m512i va, __m512i vb) {                          \
        const nacre_512 x = {.si = va}, y = {.si = vb};                                  \
        __mmask32 m = 0;                                                                 \
        for (size_t i = 0; i < 4; i++) {                                                 \
            const __m256 a = _mm256_cvtph_ps(x.si4[i]), b = _mm256_cvtph_ps(y.si4[i]);   \
            m |= (__mmask32)_mm256_movemask_ps(_mm256_cmp_ps(a, b, how)) << 8 * i;       \
        }                                                                                \
        return m;                                                                        \
    }
NACRE_F16_OF_TWO(add, _mm256_add_ps(a, b))
NACRE_F16_OF_TWO(sub, _mm256_sub_ps(a, b))
NACRE_F16_OF_TWO(mul, _mm256_mul_ps(a, b))
NACRE_F16_OF_TWO(div, _mm256_div_ps(a, b))
NACRE_F16_OF_ONE(sqrt, _mm256_sqrt_ps(a))
NACRE_F16_OF_ONE(rint, _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
NACRE_F16_OF_ONE(floor, _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
NACRE_F16_OF_ONE(ceil, _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
NACRE_F16_TEST(eq, _CMP_EQ_OQ)
NACRE_F16_TEST(ge, _CMP_GE_OQ)
NACRE_F16_TEST(gt, _CMP_GT_OQ)

#undef CALLED

#endif
