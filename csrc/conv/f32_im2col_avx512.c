#include "conv/conv.h"
#include "conv/space.h"
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
        const size_t end = stop > first ? conv_least(stop - first, 16) : 0;
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
#endif
