// The variants of i8_dot_rate: sums of products of bytes in int32, on registers of zeros.
#include "core/target.h"
#include "probe/probe.h"

#if NACRE_X86_64
#ifndef NACRE_EMULATED
#include "core/amx.h"

NACRE_TARGET_BEGIN(NACRE_AVX512VNNI)

// Four independent tiles of sums.
size_t nacre_i8_dot_rate__amx(size_t ops) {
    const size_t per_round = 4 * 16 * 16 * 64 * 2;
    const size_t rounds = ops / per_round + 1;
    nacre_amx_begin();
    NACRE_AMX_ZERO(0);
    NACRE_AMX_ZERO(1);
    NACRE_AMX_ZERO(2);
    NACRE_AMX_ZERO(3);
    NACRE_AMX_ZERO(4);
    NACRE_AMX_ZERO(5);
    for (size_t r = 0; r < rounds; r++) {
        NACRE_AMX_S8U8(0, 4, 5);
        NACRE_AMX_S8U8(1, 4, 5);
        NACRE_AMX_S8U8(2, 4, 5);
        NACRE_AMX_S8U8(3, 4, 5);
    }
    nacre_amx_end();
    return rounds * per_round;
}

// 24 independent sums; zmm24 and zmm25 are the factors.
size_t nacre_i8_dot_rate__avx512vnni(size_t ops) {
    const size_t per_round = 24 * 64 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define CLEAR(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define DOT(i) "vpdpbusd %%zmm24, %%zmm25, %%zmm" #i "\n\t"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
    __asm__ volatile(ALL(CLEAR) CLEAR(24) CLEAR(25)
                     "1:\n\t" ALL(DOT) "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper\n\t"
                     : "+r"(left)
                     :
                     : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10",
                       "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21",
                       "zmm22", "zmm23", "zmm24", "zmm25");
#undef CLEAR
#undef DOT
#undef ALL
    return rounds * per_round;
}

NACRE_TARGET_END
#endif

NACRE_TARGET_BEGIN(NACRE_AVX2)

// 8 independent sums of int32; ymm8 and ymm9 are the factors, ymm10 the ones by which pairs add up.
size_t nacre_i8_dot_rate__avx2(size_t ops) {
    const size_t per_round = 8 * 32 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define CLEAR(i) "vpxor %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define DOT(i, t)                                        \
    "vpmaddubsw %%ymm8, %%ymm9, %%ymm" #t "\n\t"         \
    "vpmaddwd %%ymm10, %%ymm" #t ", %%ymm" #t "\n\t"     \
    "vpaddd %%ymm" #t ", %%ymm" #i ", %%ymm" #i "\n\t"
    __asm__ volatile(CLEAR(0) CLEAR(1) CLEAR(2) CLEAR(3) CLEAR(4) CLEAR(5) CLEAR(6) CLEAR(7) CLEAR(8) CLEAR(9) CLEAR(10)
                     "1:\n\t" DOT(0, 11) DOT(1, 12) DOT(2, 13) DOT(3, 14) DOT(4, 11) DOT(5, 12) DOT(6, 13) DOT(7, 14)
                     "dec %0\n\t"
                     "jnz 1b\n\t"
                     "vzeroupper\n\t"
                     : "+r"(left)
                     :
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10",
                       "ymm11", "ymm12", "ymm13", "ymm14");
#undef CLEAR
#undef DOT
    return rounds * per_round;
}

NACRE_TARGET_END
#endif

#if NACRE_AARCH64
// 24 independent sums; v24 and v25 are the factors.
#define CLEAR(i) "movi v" #i ".4s, #0\n\t"
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
#define RUN(DOT)                                                                                                          \
    __asm__ volatile(ALL(CLEAR) CLEAR(24) CLEAR(25)                                                                       \
                     "1:\n\t" ALL(DOT) "subs %0, %0, #1\n\t"                                                              \
                     "b.ne 1b\n\t"                                                                                        \
                     : "+r"(left)                                                                                         \
                     :                                                                                                    \
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",      \
                       "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26")

NACRE_TARGET_BEGIN(NACRE_I8MM)

size_t nacre_i8_dot_rate__i8mm(size_t ops) {
    const size_t per_round = 24 * 32 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define DOT(i) "smmla v" #i ".4s, v24.16b, v25.16b\n\t"
    RUN(DOT);
#undef DOT
    return rounds * per_round;
}

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_DOTPROD)

size_t nacre_i8_dot_rate__dotprod(size_t ops) {
    const size_t per_round = 24 * 16 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define DOT(i) "sdot v" #i ".4s, v24.16b, v25.16b\n\t"
    RUN(DOT);
#undef DOT
    return rounds * per_round;
}

NACRE_TARGET_END

// nacre_i8_dot_rate__neon adds two products of 16 bits before it adds them to a sum.
size_t nacre_i8_dot_rate__neon(size_t ops) {
    const size_t per_round = 24 * 16 * 2;
    const size_t rounds = ops / per_round + 1;
    size_t left = rounds;
#define DOT(i)                             \
    "smull v26.8h, v24.8b, v25.8b\n\t"     \
    "smlal2 v26.8h, v24.16b, v25.16b\n\t"  \
    "sadalp v" #i ".4s, v26.8h\n\t"
    RUN(DOT);
#undef DOT
    return rounds * per_round;
}

#undef CLEAR
#undef ALL
#undef RUN
#endif

#if NACRE_SIMD128
#include <wasm_simd128.h>

// nacre_i8_dot_rate__simd128 has 12 independent sums, of products of numbers of 16 bits.
size_t nacre_i8_dot_rate__simd128(size_t ops) {
    const size_t per_round = 12 * 8 * 2;
    const size_t rounds = ops / per_round + 1;
    volatile int seed = 0;
    const v128_t factor = wasm_i32x4_splat(seed);
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLEAR(i) v128_t s##i = factor;
#define DOT(i) s##i = wasm_i32x4_add(wasm_i32x4_dot_i16x8(s##i, factor), factor);
#define USE(i) seed = wasm_i32x4_extract_lane(s##i, 0);
    ALL(CLEAR)
    for (size_t r = 0; r < rounds; r++) {
        ALL(DOT)
    }
    ALL(USE)
#undef ALL
#undef CLEAR
#undef DOT
#undef USE
    return rounds * per_round;
}
#endif

enum { SUMS = 8 };

// nacre_i8_dot_rate__scalar multiplies and adds a few independent integers, in plain C.
size_t nacre_i8_dot_rate__scalar(size_t ops) {
    const size_t per_round = SUMS * 2;
    const size_t rounds = ops / per_round + 1;
    volatile signed char seed = 0;
    volatile unsigned result = 0;
    const signed char factor = seed;
    unsigned sum[SUMS] = {0};
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < SUMS; i++) sum[i] = (unsigned)((signed char)sum[i] * factor) + sum[i];
    }
    for (int i = 0; i < SUMS; i++) result = sum[i];
    (void)result;
    return rounds * per_round;
}
