// The oracles of the family.
#include <float.h>
#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "quant/quant.h"
#include "quant/search.h"

// The oracle of i8_lookup.
void nacre_i8_lookup__scalar(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    for (size_t i = 0; i < n; i++) y[i] = table[x[i]];
}

// The oracle of f32_quantize.
#define K(name) f32_quantize_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "quant/f32_quantize.inc"
#undef K
#undef KERNEL

// The oracle of f32_search. Adding 1.5 * 2^23 rounds a small number to an integer.
void nacre_f32_search__scalar(size_t size, size_t tries, float low, float high, const float *table, const float *x,
                              const float *w, const float *inverse, const float *shift, float *sums) {
    for (size_t i = 0; i < tries * NACRE_SEARCH_LANES; i++) {
        const size_t lane = i % NACRE_SEARCH_LANES;
        float wq = 0, wqq = 0, wqx = 0;
        for (size_t e = 0; e < size; e++) {
            const float v = x[e * NACRE_SEARCH_LANES + lane];
            float q = v * inverse[i] + shift[i];
            q = q > low ? q : low;
            q = q < high ? q : high;
            q = (q + 0x1.8p23f) - 0x1.8p23f;
            if (table != NULL) q = table[(int)q + NACRE_SEARCH_MIDDLE];
            const float weighed = w[e * NACRE_SEARCH_LANES + lane] * q;
            wq += weighed;
            wqq += weighed * q;
            wqx += weighed * v;
        }
        float *const to = sums + 3 * (i - lane) + lane;
        to[0] = wq;
        to[NACRE_SEARCH_LANES] = wqq;
        to[2 * NACRE_SEARCH_LANES] = wqx;
    }
}

// The oracle of f32_whole.
void nacre_f32_whole__scalar(size_t size, size_t reach, float low, float high, const float *table, const float *x,
                             const float *w, const float *unit, const float *inverse, float least, float most,
                             float *whole, float *sums) {
    float near[NACRE_SEARCH_LANES], n[NACRE_SEARCH_LANES], loss[NACRE_SEARCH_LANES], parts[NACRE_SEARCH_LANES];
    float found[3 * NACRE_SEARCH_LANES];
    const float shift[NACRE_SEARCH_LANES] = {0};
    memcpy(near, whole, sizeof near);
    for (size_t l = 0; l < NACRE_SEARCH_LANES; l++) loss[l] = FLT_MAX;
    for (size_t k = 0; k <= 2 * reach; k++) {
        for (size_t l = 0; l < NACRE_SEARCH_LANES; l++) {
            n[l] = near[l] + (k <= reach ? (float)k : -(float)(k - reach));
            n[l] = n[l] > least ? n[l] : least;
            n[l] = n[l] < most ? n[l] : most;
            parts[l] = inverse[l] * (n[l] == 0 ? 0 : 1 / n[l]);
        }
        nacre_f32_search__scalar(size, 1, low, high, table, x, w, parts, shift, found);
        for (size_t l = 0; l < NACRE_SEARCH_LANES; l++) {
            const float a = unit[l] * n[l], wqq = found[NACRE_SEARCH_LANES + l], wqx = found[2 * NACRE_SEARCH_LANES + l];
            const float e = a * (a * wqq - 2 * wqx);
            if (!(e < loss[l])) continue;
            whole[l] = n[l], loss[l] = e;
            sums[l] = 0;
            sums[NACRE_SEARCH_LANES + l] = wqq;
            sums[2 * NACRE_SEARCH_LANES + l] = wqx;
        }
    }
}

// The oracle of i8_gemm.
#define OWN(name) i8_gemm_##name##_scalar
#define LANES 4
#include "quant/i8_gemm_parts.inc"
#undef LANES

enum { I8_SCALAR_MR = 4, I8_SCALAR_NR = 8 };

static void i8_gemm_tile_scalar(size_t groups, size_t m, size_t n, const void *a, size_t a_row, const uint8_t *b, int32_t *sums,
                                const uint8_t *next, size_t next_step) {
    (void)a_row;
    (void)next;
    (void)next_step;
    const int8_t *const x = a, *const y = (const int8_t *)b;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            uint32_t sum = 0;
            for (size_t p = 0; p < groups; p++) sum += (uint32_t)(x[p * m + i] * y[p * I8_SCALAR_NR + j]);
            sums[i * I8_SCALAR_NR + j] = (int32_t)sum;
        }
    }
}

static void i8_gemm_row_scalar(size_t groups, const void *a, const uint8_t *b, size_t step, int32_t *sums) {
    for (size_t p = 0; p < NACRE_I8_WIDE; p++) {
        i8_gemm_tile_scalar(groups, 1, I8_SCALAR_NR, a, 0, b + p * step, sums + p * I8_SCALAR_NR, NULL, 0);
    }
}

const nacre_i8_gemm_impl *nacre_i8_gemm_4x8__scalar(void) {
    static const nacre_i8_gemm_impl impl = {
        I8_SCALAR_MR, I8_SCALAR_NR, 1, 1, 1, 0, 0, i8_gemm_tile_scalar, NULL, NULL, NULL, i8_gemm_row_scalar, OWN(line), OWN(finish),
            OWN(to_floats), OWN(to_integers),
    };
    return &impl;
}
#undef OWN
