// The variants of f32_fma_rate.
#include "core/target.h"
#include "probe/probe.h"

#if NACRE_X86_64
#ifndef NACRE_EMULATED
NACRE_TARGET_BEGIN(NACRE_AVX512)

// 24 independent sums; zmm24 and zmm25 are the factors, both zero.
size_t nacre_f32_fma_rate__avx512(size_t ops) {
    const size_t per_round = 24 * 16 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define CLEAR(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define FMA(i) "vfmadd231ps %%zmm24, %%zmm25, %%zmm" #i "\n\t"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
    __asm__ volatile(ALL(CLEAR) CLEAR(24) CLEAR(25)
                     "1:\n\t" ALL(FMA) "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper\n\t"
                     : "+r"(left)
                     :
                     : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10",
                         "zmm11",
                       "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21",
                           "zmm22",
                       "zmm23", "zmm24", "zmm25");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}

NACRE_TARGET_END
#endif

NACRE_TARGET_BEGIN(NACRE_AVX2)

// 12 independent sums, twice a round; ymm12 and ymm13 are the factors, both zero.
size_t nacre_f32_fma_rate__avx2(size_t ops) {
    const size_t per_round = 24 * 8 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define CLEAR(i) "vxorps %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define FMA(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n\t"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
    __asm__ volatile(ALL(CLEAR) CLEAR(12) CLEAR(13)
                     "1:\n\t" ALL(FMA) ALL(FMA) "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper\n\t"
                     : "+r"(left)
                     :
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10",
                         "ymm11",
                       "ymm12", "ymm13");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}

NACRE_TARGET_END
#endif

#if NACRE_AARCH64

// 24 independent sums; v24 and v25 are the factors, both zero.
size_t nacre_f32_fma_rate__neon(size_t ops) {
    const size_t per_round = 24 * 4 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define CLEAR(i) "movi v" #i ".4s, #0\n\t"
#define FMA(i) "fmla v" #i ".4s, v24.4s, v25.4s\n\t"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
    __asm__ volatile(ALL(CLEAR) CLEAR(24) CLEAR(25)
                     "1:\n\t" ALL(FMA) "subs %0, %0, #1\n\t"
                     "b.ne 1b\n\t"
                     : "+r"(left)
                     :
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                         "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}
#endif

#if NACRE_SIMD128
#include <wasm_simd128.h>

// nacre_f32_fma_rate__simd128 has 12 independent sums. A multiply-add is a product and a sum.
size_t nacre_f32_fma_rate__simd128(size_t ops) {
    const size_t per_round = 12 * 4 * 2;
    const size_t rounds = ops / per_round + 1;
    volatile float seed = 0;
    const v128_t factor = wasm_f32x4_splat(seed);
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLEAR(i) v128_t s##i = factor;
#define FMA(i) s##i = wasm_f32x4_add(wasm_f32x4_mul(s##i, factor), factor);
#define USE(i) seed = wasm_f32x4_extract_lane(s##i, 0);
    ALL(CLEAR)
    for (size_t r = 0; r < rounds; r++) {
        ALL(FMA)
    }
    ALL(USE)
#undef ALL
#undef CLEAR
#undef FMA
#undef USE
    return rounds * per_round;
}
#endif

enum { SUMS = 8 };

// nacre_f32_fma_rate__scalar multiplies and adds on a few independent numbers, in plain C. The
// compiler may use the vectors that every CPU of the architecture has.
size_t nacre_f32_fma_rate__scalar(size_t ops) {
    const size_t per_round = SUMS * 2;
    const size_t rounds = ops / per_round + 1;
    volatile float seed = 0;
    const float factor = seed;
    float sum[SUMS] = {0};
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * factor + factor;
    }
    for (int i = 0; i < SUMS; i++) seed = sum[i];
    return rounds * per_round;
}
