#include <string.h>

#include "core/target.h"
#include "matmul/matmul.h"

static size_t round_up_pack(size_t n, size_t step) { return (n + step - 1) / step * step; }

static float element(const void *src, nacre_float_type type, size_t i) {
    switch (type) {
        case NACRE_FLOAT16: return nacre_f16_to_f32(((const uint16_t *)src)[i]);
        case NACRE_BFLOAT16: return nacre_bf16_to_f32(((const uint16_t *)src)[i]);
        default: return ((const float *)src)[i];
    }
}

// Four lanes by four steps at once, for floats whose steps follow each other.
#if NACRE_X86_64
static void transpose_4x4(const float *src, size_t lane, float *dst, size_t width) {
    __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + lane);
    __m128 r2 = _mm_loadu_ps(src + 2 * lane), r3 = _mm_loadu_ps(src + 3 * lane);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(dst, r0);
    _mm_storeu_ps(dst + width, r1);
    _mm_storeu_ps(dst + 2 * width, r2);
    _mm_storeu_ps(dst + 3 * width, r3);
}
#elif NACRE_AARCH64
static void transpose_4x4(const float *src, size_t lane, float *dst, size_t width) {
    const float32x4x2_t a = vtrnq_f32(vld1q_f32(src), vld1q_f32(src + lane));
    const float32x4x2_t b = vtrnq_f32(vld1q_f32(src + 2 * lane), vld1q_f32(src + 3 * lane));
    vst1q_f32(dst, vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0])));
    vst1q_f32(dst + width, vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1])));
    vst1q_f32(dst + 2 * width, vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0])));
    vst1q_f32(dst + 3 * width, vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1])));
}
#else
static void transpose_4x4(const float *src, size_t lane, float *dst, size_t width) {
    for (size_t p = 0; p < 4; p++) {
        for (size_t l = 0; l < 4; l++) dst[p * width + l] = src[l * lane + p];
    }
}
#endif

static void pack_transposed(size_t k, size_t lanes, const float *src, size_t lane, size_t width, float *dst) {
    size_t p = 0;
    for (; p + 4 <= k; p += 4) {
        size_t l = 0;
        for (; l + 4 <= lanes; l += 4) transpose_4x4(src + l * lane + p, lane, dst + p * width + l, width);
        for (; l < lanes; l++) {
            for (size_t q = p; q < p + 4; q++) dst[q * width + l] = src[l * lane + q];
        }
    }
    for (; p < k; p++) {
        for (size_t l = 0; l < lanes; l++) dst[p * width + l] = src[l * lane + p];
    }
}

void nacre_f32_pack_panel(size_t k, size_t lanes, const void *src, nacre_float_type type, size_t lane, size_t step,
                          size_t width, float *dst) {
    if (type == NACRE_FLOAT32 && lane == 1) {
        const float *const s = src;
        for (size_t p = 0; p < k; p++) memcpy(dst + p * width, s + p * step, lanes * sizeof *dst);
    } else if (type == NACRE_FLOAT32 && step == 1) {
        pack_transposed(k, lanes, src, lane, width, dst);
    } else {
        for (size_t p = 0; p < k; p++) {
            for (size_t l = 0; l < lanes; l++) dst[p * width + l] = element(src, type, l * lane + p * step);
        }
    }
    if (lanes == width) return;
    for (size_t p = 0; p < k; p++) {
        for (size_t l = lanes; l < width; l++) dst[p * width + l] = 0;
    }
}

size_t nacre_f32_gemm_panel_rows(const nacre_f32_gemm_impl *impl, size_t m) {
    const size_t panels = (m + impl->mr - 1) / impl->mr;
    return panels == 0 ? 1 : (m + panels - 1) / panels;
}

size_t nacre_f32_gemm_packed_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k) {
    const size_t rows = nacre_f32_gemm_panel_rows(impl, m);
    return round_up_pack(round_up_pack(m, rows) * k, 16);
}

size_t nacre_f32_gemm_packed_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k) {
    return round_up_pack(round_up_pack(n, impl->nr) * k, 16);
}

static const void *advance(const nacre_f32_operand *x, size_t elements) {
    return (const char *)x->data + elements * (x->type == NACRE_FLOAT32 ? 4 : 2);
}

void nacre_f32_gemm_pack_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k, const nacre_f32_operand *a, float *dst) {
    const size_t rows = nacre_f32_gemm_panel_rows(impl, m);
    for (size_t i = 0; i < m; i += rows) {
        const size_t lanes = m - i < rows ? m - i : rows;
        nacre_f32_pack_panel(k, lanes, advance(a, i * a->row), a->type, a->row, a->col, rows, dst + i * k);
    }
}

void nacre_f32_gemm_pack_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k, const nacre_f32_operand *b, float *dst) {
    for (size_t j = 0; j < n; j += impl->nr) {
        const size_t lanes = n - j < impl->nr ? n - j : impl->nr;
        nacre_f32_pack_panel(k, lanes, advance(b, j * b->col), b->type, b->col, b->row, impl->nr, dst + j * k);
    }
}
