// The variants of f32_im2col for 64-bit x86.
#include "conv/conv.h"
#include "conv/space.h"
#include "core/vec_avx2.h"
#include "core/x86.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

// What 16 lanes take from a plane at steps of 1 or 2: masked loads, of one or two
// vectors, at offsets that put each run where it belongs, which may lie before the
// plane.
typedef struct {
    size_t count;
    __mmask16 mask[16], high[16];
    ptrdiff_t offset[16];
} lanes_avx512;

static void find_lanes_avx512(const conv_run *runs, size_t count, size_t step, size_t first, lanes_avx512 *v) {
    v->count = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = runs[i].lane > first ? runs[i].lane - first : 0;
        const size_t stop = runs[i].lane + runs[i].lanes;
        const size_t end = stop > first ? nacre_min(stop - first, 16) : 0;
        if (begin >= end) continue;
        const uint64_t ones = ((uint64_t)1 << step * end) - ((uint64_t)1 << step * begin);
        const uint64_t taken = step == 1 ? ones : ones & 0x55555555;
        v->mask[v->count] = (__mmask16)taken;
        v->high[v->count] = (__mmask16)(taken >> 16);
        v->offset[v->count++] = (ptrdiff_t)runs[i].offset + (ptrdiff_t)step * ((ptrdiff_t)first - (ptrdiff_t)runs[i].lane);
    }
}

// Loads at an address that may lie outside the plane in lanes that are left out.
static inline __m512 masked_at_avx512(__m512 v, __mmask16 mask, const float *x, ptrdiff_t offset) {
    return _mm512_mask_loadu_ps(v, mask, (const void *)((uintptr_t)x + (uintptr_t)offset * sizeof *x));
}

static void copy_lanes_avx512(const lanes_avx512 *v, const float *x, size_t plane, size_t n, float *dst, size_t ld) {
    for (size_t r = 0; r < n; r++) {
        __m512 a = _mm512_setzero_ps();
        for (size_t i = 0; i < v->count; i++) a = masked_at_avx512(a, v->mask[i], x + r * plane, v->offset[i]);
        _mm512_storeu_ps(dst + r * ld, a);
    }
}

static void split_lanes_avx512(const lanes_avx512 *v, const float *x, size_t plane, size_t n, float *dst, size_t ld) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    for (size_t r = 0; r < n; r++) {
        __m512 a = _mm512_setzero_ps(), b = a;
        for (size_t i = 0; i < v->count; i++) {
            a = masked_at_avx512(a, v->mask[i], x + r * plane, v->offset[i]);
            b = masked_at_avx512(b, v->high[i], x + r * plane, v->offset[i] + 16);
        }
        _mm512_storeu_ps(dst + r * ld, _mm512_permutex2var_ps(a, even, b));
    }
}

static void gather_lanes_avx512(const conv_run *runs, size_t count, size_t first, size_t step, const float *x, size_t plane,
                                size_t n, float *dst, size_t ld) {
    int32_t index[16] = {0};
    unsigned mask = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t l = 0; l < runs[i].lanes; l++) {
            const size_t lane = runs[i].lane + l;
            if (lane < first || lane >= first + 16) continue;
            index[lane - first] = (int32_t)(runs[i].offset + l * step);
            mask |= 1u << (lane - first);
        }
    }
    const __m512i at = _mm512_loadu_si512(index);
    for (size_t r = 0; r < n; r++) {
        _mm512_storeu_ps(dst + r * ld, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), (__mmask16)mask, at, x + r * plane, 4));
    }
}

static void im2col_rows_avx512(const conv_run *runs, size_t count, size_t step, const float *x, size_t plane, size_t n,
                               size_t nr, float *dst, size_t ld) {
    lanes_avx512 v;
    for (size_t first = 0; first < nr; first += 16) {
        if (step > 2) {
            gather_lanes_avx512(runs, count, first, step, x, plane, n, dst + first, ld);
            continue;
        }
        find_lanes_avx512(runs, count, step, first, &v);
        if (step == 1) {
            copy_lanes_avx512(&v, x, plane, n, dst + first, ld);
        } else {
            split_lanes_avx512(&v, x, plane, n, dst + first, ld);
        }
    }
}

#define T float
#define OWN(name) im2col_avx512_##name
#define ROWS im2col_rows_avx512
#include "conv/f32_im2col.inc"
#undef T
#undef OWN
#undef ROWS

void nacre_f32_im2col__avx512(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                              float *dst) {
    im2col_avx512_panels(c, x, k0, k, j0, n, nr, dst);
}

NACRE_TARGET_END

NACRE_TARGET_BEGIN(NACRE_AVX2)

// What 8 lanes take from a plane at steps of 1 or 2: masked loads, of one or two
// vectors, at offsets that put each run where it belongs, which may lie before the
// plane.
typedef struct {
    size_t count;
    __m256i mask[8], high[8];
    ptrdiff_t offset[8];
} lanes_avx2;

// Ones in lanes begin..end-1.
static inline __m256i between_avx2(int begin, int end) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane), _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
}

static void find_lanes_avx2(const conv_run *runs, size_t count, size_t step, size_t first, lanes_avx2 *v) {
    const __m256i even = _mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0);
    v->count = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = runs[i].lane > first ? runs[i].lane - first : 0;
        const size_t stop = runs[i].lane + runs[i].lanes;
        const size_t end = stop > first ? nacre_min(stop - first, 8) : 0;
        if (begin >= end) continue;
        const int b = (int)(step * begin), e = (int)(step * end);
        v->mask[v->count] = step == 1 ? between_avx2(b, e) : _mm256_and_si256(even, between_avx2(b, e));
        v->high[v->count] = _mm256_and_si256(even, between_avx2(b - 8, e - 8));
        v->offset[v->count++] = (ptrdiff_t)runs[i].offset + (ptrdiff_t)step * ((ptrdiff_t)first - (ptrdiff_t)runs[i].lane);
    }
}

// Loads at an address that may lie outside the plane in lanes that are left out,
// which become zero.
static inline __m256 masked_at_avx2(__m256i mask, const float *x, ptrdiff_t offset) {
    return _mm256_maskload_ps((const float *)((uintptr_t)x + (uintptr_t)offset * sizeof *x), mask);
}

static void copy_lanes_avx2(const lanes_avx2 *v, const float *x, size_t plane, size_t n, float *dst, size_t ld) {
    for (size_t r = 0; r < n; r++) {
        __m256 a = _mm256_setzero_ps();
        for (size_t i = 0; i < v->count; i++) a = _mm256_or_ps(a, masked_at_avx2(v->mask[i], x + r * plane, v->offset[i]));
        _mm256_storeu_ps(dst + r * ld, a);
    }
}

static void split_lanes_avx2(const lanes_avx2 *v, const float *x, size_t plane, size_t n, float *dst, size_t ld) {
    for (size_t r = 0; r < n; r++) {
        __m256 a = _mm256_setzero_ps(), b = a;
        for (size_t i = 0; i < v->count; i++) {
            a = _mm256_or_ps(a, masked_at_avx2(v->mask[i], x + r * plane, v->offset[i]));
            b = _mm256_or_ps(b, masked_at_avx2(v->high[i], x + r * plane, v->offset[i] + 8));
        }
        _mm256_storeu_ps(dst + r * ld, nacre_avx2_even(a, b));
    }
}

static void gather_lanes_avx2(const conv_run *runs, size_t count, size_t first, size_t step, const float *x, size_t plane,
                                size_t n, float *dst, size_t ld) {
    int32_t index[8] = {0}, mask[8] = {0};
    for (size_t i = 0; i < count; i++) {
        for (size_t l = 0; l < runs[i].lanes; l++) {
            const size_t lane = runs[i].lane + l;
            if (lane < first || lane >= first + 8) continue;
            index[lane - first] = (int32_t)(runs[i].offset + l * step);
            mask[lane - first] = -1;
        }
    }
    const __m256i at = _mm256_loadu_si256((const __m256i *)index);
    const __m256 here = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)mask));
    for (size_t r = 0; r < n; r++) {
        _mm256_storeu_ps(dst + r * ld, _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x + r * plane, at, here, 4));
    }
}

static void im2col_rows_avx2(const conv_run *runs, size_t count, size_t step, const float *x, size_t plane, size_t n,
                               size_t nr, float *dst, size_t ld) {
    lanes_avx2 v;
    for (size_t first = 0; first < nr; first += 8) {
        if (step > 2) {
            gather_lanes_avx2(runs, count, first, step, x, plane, n, dst + first, ld);
            continue;
        }
        find_lanes_avx2(runs, count, step, first, &v);
        if (step == 1) {
            copy_lanes_avx2(&v, x, plane, n, dst + first, ld);
        } else {
            split_lanes_avx2(&v, x, plane, n, dst + first, ld);
        }
    }
}

#define T float
#define OWN(name) im2col_avx2_##name
#define ROWS im2col_rows_avx2
#include "conv/f32_im2col.inc"
#undef T
#undef OWN
#undef ROWS

void nacre_f32_im2col__avx2(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                              float *dst) {
    im2col_avx2_panels(c, x, k0, k, j0, n, nr, dst);
}

NACRE_TARGET_END
#endif
