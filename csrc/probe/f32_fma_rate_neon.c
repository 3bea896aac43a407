#include "core/target.h"
#include "probe/probe.h"

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
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");
#undef CLEAR
#undef FMA
#undef ALL
    return rounds * per_round;
}
#endif
