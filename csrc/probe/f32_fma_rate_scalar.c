#include "probe/probe.h"

enum { SUMS = 8 };

// Plain C: a product and a sum on each of a few independent numbers. The
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
