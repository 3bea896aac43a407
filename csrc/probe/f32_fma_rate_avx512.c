#include "core/target.h"
#include "probe/probe.h"

#if NACRE_X86_64
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
                     : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11",
                       "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22",
                       "zmm23", "zmm24", "zmm25");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}

NACRE_TARGET_END
#endif
