// Products with a left operand of floats, quantised as a whole beforehand.
#include "quant/quant.h"

static size_t dynamic_own(const nacre_i8_gemm *g, size_t n, size_t threads) {
    return nacre_align_bytes(n) + 2 * nacre_align_bytes(g->m * sizeof(float)) +
        nacre_align_bytes(2 * threads * sizeof(float));
}

size_t nacre_i8_gemm_dynamic_scratch(const nacre_i8_gemm *g, size_t n, size_t threads) {
    return dynamic_own(g, n, threads) + nacre_i8_gemm_scratch(g, threads);
}

void nacre_i8_gemm_dynamic_run(const nacre_i8_gemm *given, const nacre_f32_quantize_impl *impl, nacre_team *team,
                               size_t n, const float *x, uint8_t *scratch) {
    nacre_i8_gemm g = *given;
    uint8_t *const codes = scratch;
    int32_t *const zeros = (int32_t *)(void *)(codes + nacre_align_bytes(n));
    float *const scales = (float *)(void *)((uint8_t *)zeros + nacre_align_bytes(g.m * sizeof *zeros));
    float *const ranges = (float *)(void *)((uint8_t *)scales + nacre_align_bytes(g.m * sizeof *scales));
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
