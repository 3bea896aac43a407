// Packed operands of i8_gemm.
#include <string.h>

#include "core/base.h"
#include "core/simd.h"
#include "quant/i8_sum.h"
#include "quant/quant.h"

size_t nacre_i8_panel_rows(const nacre_i8_gemm_impl *impl, size_t m) {
    const size_t panels = nacre_ceil_div(m, impl->mr);
    return panels == 0 ? 1 : nacre_ceil_div(m, panels);
}

static size_t i8_depth(const nacre_i8_gemm_impl *impl, size_t k) { return nacre_round_up(k, impl->a_group); }

// i8_panels_a and i8_panels_b return the bytes of the panels, which the sums follow.
static size_t i8_panels_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k) {
    return nacre_align_bytes(nacre_round_up(m, nacre_i8_panel_rows(impl, m)) * i8_depth(impl, k) * impl->a_bytes);
}

static size_t i8_panels_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k) {
    return nacre_align_bytes(nacre_round_up(n, impl->nr) * i8_depth(impl, k));
}

size_t nacre_i8_gemm_packed_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k) {
    const size_t slack = impl->a_group > impl->group ? NACRE_I8_ROWS * impl->a_group : 0;
    return i8_panels_a(impl, m, k) +
        nacre_align_bytes(nacre_round_up(m, nacre_i8_panel_rows(impl, m)) * sizeof(int32_t)) + slack;
}

size_t nacre_i8_gemm_packed_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k) {
    return i8_panels_b(impl, n, k) + nacre_align_bytes(nacre_round_up(n, impl->nr) * sizeof(int32_t));
}

// ---- a ----

// Puts a row of a' as a_bytes each into places `step` groups apart, and returns its sum.
static int32_t i8_put_row(const nacre_i8_gemm_impl *impl, size_t k, const uint8_t *a, size_t col, uint8_t flip,
                          uint8_t *dst, size_t step) {
    int32_t sum = 0;
    for (size_t p = 0; p < k; p++) {
        const int8_t v = (int8_t)(a[p * col] ^ flip);
        const size_t at = p / impl->a_group * step * impl->a_group + p % impl->a_group;
        if (impl->a_bytes == 1) {
            ((int8_t *)dst)[at] = v;
        } else {
            ((int16_t *)(void *)dst)[at] = v;
        }
        sum += v;
    }
    return sum;
}

// Does the same for groups of four bytes that are contiguous in a.
static int32_t i8_put_row_of_fours(size_t k, const uint8_t *a, uint8_t flip, uint8_t *dst, size_t step) {
    const uint32_t flips = flip * 0x01010101u;
    size_t p = 0;
    for (; p + 4 <= k; p += 4, dst += step * 4) {
        uint32_t four;
        memcpy(&four, a + p, sizeof four);
        four ^= flips;
        memcpy(dst, &four, sizeof four);
    }
    for (size_t l = 0; p + l < k; l++) dst[l] = a[p + l] ^ flip;
    return nacre_i8_sum(k, a, flip);
}

// Does the same for 16-bit numbers in groups of two.
static int32_t i8_put_row_of_twos(size_t k, const uint8_t *a, uint8_t flip, uint8_t *dst, size_t step) {
    int32_t sum = 0;
    size_t p = 0;
    for (; p + 2 <= k; p += 2, dst += step * 4) {
        const int16_t two[2] = {(int8_t)(a[p] ^ flip), (int8_t)(a[p + 1] ^ flip)};
        memcpy(dst, two, sizeof two);
        sum += two[0] + two[1];
    }
    if (p < k) {
        const int16_t one = (int8_t)(a[p] ^ flip);
        memcpy(dst, &one, sizeof one);
        sum += one;
    }
    return sum;
}

// Does the same for bytes in groups of any size that are contiguous in a.
static int32_t i8_put_lines(size_t group, size_t k, const uint8_t *a, uint8_t flip, uint8_t *dst, size_t step) {
    enum { LINE = 64 };
    size_t p = 0;
    for (; group == LINE && p + LINE <= k; p += LINE, dst += step * LINE) {
        const uint8_t *const from = a + p;
        NACRE_SIMD for (size_t i = 0; i < LINE; i++) dst[i] = from[i] ^ flip;
    }
    for (; p < k; p += group, dst += step * group) {
        const uint8_t *const from = a + p;
        const size_t n = nacre_min(group, k - p);
        NACRE_SIMD for (size_t i = 0; i < n; i++) dst[i] = from[i] ^ flip;
    }
    return nacre_i8_sum(k, a, flip);
}

// Puts a single row as 16-bit numbers.
static int32_t i8_put_numbers(size_t k, const uint8_t *a, uint8_t flip, int16_t *dst) {
    int32_t sum = 0;
    NACRE_SIMD for (size_t i = 0; i < k; i++) dst[i] = (int8_t)(a[i] ^ flip);
    NACRE_SIMD_SUM(sum) for (size_t i = 0; i < k; i++) sum += dst[i];
    return sum;
}

void nacre_i8_pack_a_panel(const nacre_i8_gemm_impl *impl, size_t k, size_t lanes, size_t rows, const uint8_t *a,
                           const nacre_i8_operand *form, uint8_t *dst, int32_t *sums) {
    const uint8_t flip = form->is_signed ? 0 : 0x80;
    const size_t unit = impl->a_group * impl->a_bytes;
    if (lanes < rows || k % impl->a_group != 0) memset(dst, 0, i8_depth(impl, k) * rows * impl->a_bytes);
    for (size_t r = 0; r < rows; r++) sums[r] = 0;
    for (size_t r = 0; r < lanes; r++) {
        const uint8_t *const row = a + r * form->row;
        if (form->col == 1 && rows == 1 && impl->a_bytes == 2) {
            sums[r] = i8_put_numbers(k, row, flip, (int16_t *)(void *)dst);
        } else if (form->col == 1 && impl->a_group == 2 && impl->a_bytes == 2) {
            sums[r] = i8_put_row_of_twos(k, row, flip, dst + r * unit, rows);
        } else if (form->col == 1 && impl->a_group == 4 && impl->a_bytes == 1) {
            sums[r] = i8_put_row_of_fours(k, row, flip, dst + r * unit, rows);
        } else if (form->col == 1 && impl->a_bytes == 1) {
            sums[r] = i8_put_lines(impl->a_group, k, row, flip, dst + r * unit, rows);
        } else {
            sums[r] = i8_put_row(impl, k, row, form->col, flip, dst + r * unit, rows);
        }
    }
}

void nacre_i8_gemm_pack_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k, const nacre_i8_operand *a, uint8_t *dst) {
    const size_t rows = nacre_i8_panel_rows(impl, m), depth = i8_depth(impl, k) * impl->a_bytes;
    int32_t *const sums = (int32_t *)(void *)(dst + i8_panels_a(impl, m, k));
    for (size_t i = 0; i < m; i += rows) {
        const size_t lanes = nacre_min(m - i, rows);
        nacre_i8_pack_a_panel(impl, k, lanes, rows, (const uint8_t *)a->data + i * a->row, a, dst + i * depth,
                              sums + i);
    }
}

// ---- b ----

// Sets dst[4*j + l] to rows[l][j] ^ flip for j < n. i8_interleave2 does so for two rows.
static void i8_interleave4(const uint8_t *const *rows, size_t n, uint8_t flip, uint8_t *dst) {
    size_t j = 0;
#if NACRE_X86_64
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; j + 16 <= n; j += 16) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(rows[0] + j));
        const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(rows[1] + j));
        const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(rows[2] + j));
        const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(rows[3] + j));
        const __m128i ab0 = _mm_unpacklo_epi8(a, b), ab1 = _mm_unpackhi_epi8(a, b);
        const __m128i cd0 = _mm_unpacklo_epi8(c, d), cd1 = _mm_unpackhi_epi8(c, d);
        __m128i *const out = (__m128i *)(void *)(dst + 4 * j);
        _mm_storeu_si128(out, _mm_xor_si128(_mm_unpacklo_epi16(ab0, cd0), flips));
        _mm_storeu_si128(out + 1, _mm_xor_si128(_mm_unpackhi_epi16(ab0, cd0), flips));
        _mm_storeu_si128(out + 2, _mm_xor_si128(_mm_unpacklo_epi16(ab1, cd1), flips));
        _mm_storeu_si128(out + 3, _mm_xor_si128(_mm_unpackhi_epi16(ab1, cd1), flips));
    }
#elif NACRE_AARCH64
    for (; j + 16 <= n; j += 16) {
        uint8x16x4_t v;
        for (size_t l = 0; l < 4; l++) v.val[l] = veorq_u8(vld1q_u8(rows[l] + j), vdupq_n_u8(flip));
        vst4q_u8(dst + 4 * j, v);
    }
#endif
    for (; j < n; j++) {
        for (size_t l = 0; l < 4; l++) dst[4 * j + l] = rows[l][j] ^ flip;
    }
}

// Sets dst[8*j + l] to rows[l][j] ^ flip for j < n.
static void i8_interleave8(const uint8_t *const *rows, size_t n, uint8_t flip, uint8_t *dst) {
    size_t j = 0;
#if NACRE_AARCH64
    for (; j + 8 <= n; j += 8, dst += 64) {
        uint16x8_t twos[4];
        for (size_t l = 0; l < 4; l++) {
            const uint8x8x2_t v = vzip_u8(vld1_u8(rows[2 * l] + j), vld1_u8(rows[2 * l + 1] + j));
            twos[l] = vreinterpretq_u16_u8(veorq_u8(vcombine_u8(v.val[0], v.val[1]), vdupq_n_u8(flip)));
        }
        const uint16x8x2_t a = vzipq_u16(twos[0], twos[1]), b = vzipq_u16(twos[2], twos[3]);
        for (size_t h = 0; h < 2; h++) {
            const uint32x4x2_t v = vzipq_u32(vreinterpretq_u32_u16(a.val[h]), vreinterpretq_u32_u16(b.val[h]));
            vst1q_u8(dst + 32 * h, vreinterpretq_u8_u32(v.val[0]));
            vst1q_u8(dst + 32 * h + 16, vreinterpretq_u8_u32(v.val[1]));
        }
    }
#endif
    for (; j < n; j++, dst += 8) {
        for (size_t l = 0; l < 8; l++) dst[l] = rows[l][j] ^ flip;
    }
}

static void i8_interleave2(const uint8_t *const *rows, size_t n, uint8_t flip, uint8_t *dst) {
    size_t j = 0;
#if NACRE_X86_64
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; j + 16 <= n; j += 16) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(rows[0] + j));
        const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(rows[1] + j));
        __m128i *const out = (__m128i *)(void *)(dst + 2 * j);
        _mm_storeu_si128(out, _mm_xor_si128(_mm_unpacklo_epi8(a, b), flips));
        _mm_storeu_si128(out + 1, _mm_xor_si128(_mm_unpackhi_epi8(a, b), flips));
    }
#endif
    for (; j < n; j++) {
        for (size_t l = 0; l < 2; l++) dst[2 * j + l] = rows[l][j] ^ flip;
    }
}

// Packs one group of one panel from rows with contiguous columns. Rows beyond the last are zeros of
// b'.
static void i8_pack_group(const nacre_i8_gemm_impl *impl, size_t there, size_t n, const uint8_t *b, size_t row,
                          uint8_t flip, uint8_t *dst) {
    const uint8_t *rows[8];
    for (size_t l = 0; l < impl->group; l++) rows[l] = b + (l < there ? l : 0) * row;
    if (impl->group == 8) {
        i8_interleave8(rows, n, flip, dst);
    } else if (impl->group == 4) {
        i8_interleave4(rows, n, flip, dst);
    } else if (impl->group == 2) {
        i8_interleave2(rows, n, flip, dst);
    } else {
        NACRE_SIMD for (size_t j = 0; j < n; j++) dst[j] = b[j] ^ flip;
    }
    for (size_t l = there; l < impl->group; l++) {
        for (size_t j = 0; j < n; j++) dst[j * impl->group + l] = 0;
    }
}

void nacre_i8_pack_b_panels(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *b,
                            const nacre_i8_operand *form, uint8_t *dst) {
    const uint8_t flip = form->is_signed == !impl->b_unsigned ? 0 : 0x80;
    const size_t group = impl->group, nr = impl->nr, depth = i8_depth(impl, k);
    for (size_t j = 0; j < n; j += nr, dst += nr * depth, b += nr * form->col) {
        const size_t lanes = nacre_min(n - j, nr);
        if (lanes < nr || depth > nacre_round_up(k, group)) memset(dst, 0, nr * depth);
        for (size_t p = 0; p < k; p += group) {
            uint8_t *const to = dst + p * nr;
            const size_t there = nacre_min(k - p, group);
            const uint8_t *const from = b + p * form->row;
            if (form->col == 1) {
                i8_pack_group(impl, there, lanes, from, form->row, flip, to);
                continue;
            }
            for (size_t l = 0; l < lanes; l++) {
                for (size_t q = 0; q < group; q++) {
                    to[l * group + q] = q < there ? from[l * form->col + q * form->row] ^ flip : 0;
                }
            }
        }
    }
}

void nacre_i8_column_sums(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *panels, int32_t *sums) {
    // The sums are products with a row of ones, STRETCH of k at a time.
    enum { STRETCH = 1024 };
    int16_t ones[STRETCH];
    if (impl->a_bytes == 1) {
        memset(ones, 1, sizeof ones);
    } else {
        for (size_t p = 0; p < STRETCH; p++) ones[p] = 1;
    }
    const size_t groups = i8_depth(impl, k) / impl->group, step = STRETCH / impl->group, nr = impl->nr;
    int32_t part[NACRE_I8_TILE];
    for (size_t j = 0; j < n; j += nr, panels += groups * impl->group * nr) {
        for (size_t l = 0; l < nr; l++) sums[j + l] = 0;
        for (size_t g = 0; g < groups; g += step) {
            impl->tile(nacre_min(groups - g, step), 1, nr, ones, panels + g * impl->group * nr, part, panels, 0);
            NACRE_SIMD for (size_t l = 0; l < nr; l++) sums[j + l] += part[l];
        }
    }
}

void nacre_i8_gemm_pack_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k, const nacre_i8_operand *b, uint8_t *dst) {
    nacre_i8_pack_b_panels(impl, k, n, b->data, b, dst);
    nacre_i8_column_sums(impl, k, n, dst, (int32_t *)(void *)(dst + i8_panels_b(impl, n, k)));
}
