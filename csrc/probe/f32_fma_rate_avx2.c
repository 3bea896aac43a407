#include "core/target.h"
#include "probe/probe.h"

#if NACRE_X86_64
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
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11",
                       "ymm12", "ymm13");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}

NACRE_TARGET_END
#endif
