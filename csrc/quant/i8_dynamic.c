// Products whose left operand is floats, quantised as a whole beforehand.
#include "quant/quant.h"

static size_t dynamic_align(size_t n) { return (n + 63) / 64 * 64; }

static size_t dynamic_own(const nacre_i8_gemm *g, size_t n, size_t threads) {
    return dynamic_align(n) + 2 * dynamic_align(g->m * sizeof(float)) + dynamic_align(2 * threads * sizeof(float));
}

size_t nacre_i8_gemm_dynamic_scratch(const nacre_i8_gemm *g, size_t n, size_t threads) {
    return dynamic_own(g, n, threads) + nacre_i8_gemm_scratch(g, threads);
}

void nacre_i8_gemm_dynamic_run(const nacre_i8_gemm *given, const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n,
                               const float *x, uint8_t *scratch) {
    nacre_i8_gemm g = *given;
    uint8_t *const codes = scratch;
    int32_t *const zeros = (int32_t *)(void *)(codes + dynamic_align(n));
    float *const scales = (float *)(void *)((uint8_t *)zeros + dynamic_align(g.m * sizeof *zeros));
    float *const ranges = (float *)(void *)((uint8_t *)scales + dynamic_align(g.m * sizeof *scales));
    float scale;
    uint8_t zero;
    nacre_quantize_dynamic(impl, team, n, x, codes, &scale, &zero, ranges);
    for (size_t i = 0; i < g.m; i++) {
        zeros[i] = zero;
        scales[i] = scale;
    }
    g.a.data = codes;
    g.a_zero = zeros;
    g.row_scale = scales;
    nacre_i8_gemm_run(&g, team, scratch + dynamic_own(given, n, nacre_team_threads(team)));
}
