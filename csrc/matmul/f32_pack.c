#include <string.h>

#include "core/base.h"
#include "matmul/matmul.h"

// Transposes four lanes by four steps of floats. The steps of a lane are contiguous in src.
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
#elif NACRE_SIMD128
static void transpose_4x4(const float *src, size_t lane, float *dst, size_t width) {
    const v128_t r0 = wasm_v128_load(src), r1 = wasm_v128_load(src + lane);
    const v128_t r2 = wasm_v128_load(src + 2 * lane), r3 = wasm_v128_load(src + 3 * lane);
    const v128_t a = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5), b = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7);
    const v128_t c = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5), d = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
    wasm_v128_store(dst, wasm_i64x2_shuffle(a, c, 0, 2));
    wasm_v128_store(dst + width, wasm_i64x2_shuffle(a, c, 1, 3));
    wasm_v128_store(dst + 2 * width, wasm_i64x2_shuffle(b, d, 0, 2));
    wasm_v128_store(dst + 3 * width, wasm_i64x2_shuffle(b, d, 1, 3));
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

// Copies steps with contiguous lanes. If the number of lanes is a constant, the copy needs no loop.
static inline void pack_steps(size_t k, size_t lanes, const float *src, size_t step, size_t width, float *dst) {
    for (size_t p = 0; p < k; p++) memcpy(dst + p * width, src + p * step, lanes * sizeof *dst);
}

static void pack_f32(const nacre_half *half, size_t k, size_t lanes, const float *src, size_t lane, size_t step,
                     size_t width, float *dst) {
    if (lane == 1 && half->rows != NULL) {
        half->rows(k, lanes, src, step, width, dst);
        return;
    }
    if (lane == 1 && lanes == 16) {
        pack_steps(k, 16, src, step, width, dst);
    } else if (lane == 1) {
        pack_steps(k, lanes, src, step, width, dst);
    } else if (step == 1) {
        (half->transpose != NULL ? half->transpose : pack_transposed)(k, lanes, src, lane, width, dst);
    } else {
        for (size_t p = 0; p < k; p++) {
            for (size_t l = 0; l < lanes; l++) dst[p * width + l] = src[l * lane + p * step];
        }
    }
    if (lanes == width) return;
    for (size_t p = 0; p < k; p++) {
        for (size_t l = lanes; l < width; l++) dst[p * width + l] = 0;
    }
}

// Packs 16-bit elements. Zero bits are 0 in every float type.
static void pack_16(size_t k, size_t lanes, const uint16_t *src, size_t lane, size_t step, size_t width,
                    uint16_t *dst) {
    if (lane == 1) {
        for (size_t p = 0; p < k; p++) memcpy(dst + p * width, src + p * step, lanes * sizeof *dst);
    } else {
        for (size_t l = 0; l < lanes; l++) {
            for (size_t p = 0; p < k; p++) dst[p * width + l] = src[l * lane + p * step];
        }
    }
    if (lanes == width) return;
    for (size_t p = 0; p < k; p++) {
        for (size_t l = lanes; l < width; l++) dst[p * width + l] = 0;
    }
}

void nacre_f32_pack_panel(const nacre_half *half, size_t k, size_t lanes, const void *src, nacre_dtype type,
                          size_t lane, size_t step, size_t width, float *dst) {
    enum { PIECE = 2048 };
    uint16_t piece[PIECE];
    if (type == NACRE_DTYPE_f32) {
        pack_f32(half, k, lanes, src, lane, step, width, dst);
        return;
    }
    const size_t most = PIECE / width;
    for (size_t p = 0; p < k; p += most) {
        const size_t n = k - p < most ? k - p : most;
        pack_16(n, lanes, (const uint16_t *)src + p * step, lane, step, width, piece);
        half->widen[type](piece, dst + p * width, n * width);
    }
}

static void pack_same(const nacre_half *half, size_t k, size_t lanes, const nacre_f32_operand *x, size_t first,
                      size_t lane, size_t step, size_t width, void *dst, size_t at) {
    if (x->type == NACRE_DTYPE_f32) {
        pack_f32(half, k, lanes, (const float *)x->data + first, lane, step, width, (float *)dst + at);
    } else {
        pack_16(k, lanes, (const uint16_t *)x->data + first, lane, step, width, (uint16_t *)dst + at);
    }
}

size_t nacre_f32_gemm_panel_rows(const nacre_f32_gemm_impl *impl, size_t m) {
    const size_t panels = nacre_ceil_div(m, impl->mr);
    return panels == 0 ? 1 : nacre_ceil_div(m, panels);
}

size_t nacre_f32_gemm_packed_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k) {
    const size_t rows = nacre_f32_gemm_panel_rows(impl, m);
    return nacre_align_floats(nacre_round_up(m, rows) * k);
}

size_t nacre_f32_gemm_packed_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k) {
    return nacre_align_floats(nacre_round_up(n, impl->nr) * k);
}

void nacre_f32_gemm_pack_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k, const nacre_f32_operand *a, void *dst) {
    const size_t rows = nacre_f32_gemm_panel_rows(impl, m);
    for (size_t i = 0; i < m; i += rows) {
        pack_same(impl->half(), k, nacre_min(m - i, rows), a, i * a->row, a->row, a->col, rows, dst, i * k);
    }
}

// Packs n columns of b into consecutive panels. It writes a few rows to all panels at a time, so
// that it reads neighbouring lines together, and prefetches the next rows meanwhile.
static void pack_rows(const nacre_f32_gemm_impl *impl, size_t n, size_t k, const float *src, size_t row, float *dst) {
    enum { ROWS = 8, LINE = 64 / sizeof(float) };
    for (size_t p = 0, rows; p < k; p += rows) {
        rows = nacre_min(ROWS, k - p);
        for (size_t j = 0; j < n; j += impl->nr) {
            const float *const from = src + p * row + j;
            const size_t lanes = nacre_min(impl->nr, n - j);
            for (size_t q = rows; q < nacre_min(2 * rows, k - p); q++) {
                for (size_t l = 0; l < lanes; l += LINE) __builtin_prefetch(from + q * row + l);
            }
            pack_f32(impl->half(), rows, lanes, from, 1, row, impl->nr, dst + j * k + p * impl->nr);
        }
    }
}

void nacre_f32_gemm_pack_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k, const nacre_f32_operand *b, void *dst) {
    enum { PANELS = 8 };  // written at a time; more would evict each other
    if (b->type == NACRE_DTYPE_f32 && b->col == 1) {
        const size_t each = PANELS * impl->nr;
        for (size_t j = 0; j < n; j += each) {
            pack_rows(impl, nacre_min(each, n - j), k, (const float *)b->data + j, b->row, (float *)dst + j * k);
        }
        return;
    }
    for (size_t j = 0; j < n; j += impl->nr) {
        pack_same(impl->half(), k, nacre_min(n - j, impl->nr), b, j * b->col, b->col, b->row, impl->nr, dst, j * k);
    }
}
