// Products of floats on tiles of bfloat16 (core/amx.h).
//
// A float32 is the sum of three bfloat16 parts: each part rounds the rest to 8 digits, so it is at
// most 2^-8 of the one before. A product is the sum of the products of parts p and q with p + q <=
// 2, counted from 0. The products left out are at most 2^-24 of it. A bfloat16 is one part, a
// float16 the sum of two. Sums are float32. Numbers below 2^-102 lose their digits below 2^-126.
// Infinities, NaNs and numbers that would round to infinity have no parts; callers compute them
// with floats.
//
// A sum takes steps of 32 numbers, as two halves of 16. A line of a part holds 16 pairs. A pair is
// a number of the first half and the number at the same position of the second.
#ifndef NACRE_CORE_F32_PARTS_H
#define NACRE_CORE_F32_PARTS_H

#include <string.h>

#include "core/amx.h"
#include "core/numbers.h"
#include "core/vec.h"

#if NACRE_X86_64

enum {
    NACRE_PARTS = 3,
    NACRE_PARTS_DEPTH = 32,  // numbers of a sum per step
    NACRE_PARTS_SIDE = 32,   // rows and columns of a square of sums
    NACRE_PARTS_SUMS = NACRE_PARTS_SIDE * NACRE_PARTS_SIDE,
    NACRE_PARTS_RIGHT = 2 * NACRE_AMX_BYTES  // bytes of one part of one step of the right operand
};

NACRE_TARGET_BEGIN(NACRE_AVX512)

// nacre_parts_split writes the first `parts` parts of 16 pairs, `part` bytes apart. It returns a
// mask of pairs with a number that has no parts.
NACRE_INLINE __mmask16 nacre_parts_split(size_t parts, __m512 x0, __m512 x1, char *dst, size_t part) {
    const __m512i half = _mm512_set1_epi32(0x8000), high = _mm512_set1_epi32((int)0xffff0000u),
        top = _mm512_set1_epi32(0x7f800000);
    __mmask16 odd = 0;
    for (size_t p = 0; p < parts; p++, dst += part) {
        const __m512i t0 = _mm512_add_epi32(_mm512_castps_si512(x0), half),
            t1 = _mm512_add_epi32(_mm512_castps_si512(x1), half);
        if (p == 0) {
            odd = _mm512_cmpeq_epi32_mask(_mm512_and_si512(t0, top), top) |
                _mm512_cmpeq_epi32_mask(_mm512_and_si512(t1, top), top);
        }
        // t0 >> 16 | t1 & high
        _mm512_storeu_si512(dst, _mm512_ternarylogic_epi32(_mm512_srli_epi32(t0, 16), t1, high, 0xf8));
        if (p + 1 == parts) break;
        x0 = _mm512_sub_ps(x0, _mm512_castsi512_ps(_mm512_and_si512(t0, high)));
        x1 = _mm512_sub_ps(x1, _mm512_castsi512_ps(_mm512_and_si512(t1, high)));
    }
    return odd;
}

// nacre_parts_lines writes the lines of `rows` rows. Row i has `first` numbers at x + i*row and
// `second` numbers `gap` after them, padded with zeros to 16 each. It returns whether a number has
// no parts.
NACRE_INLINE int nacre_parts_lines(size_t parts, const float *x, size_t row, size_t gap, size_t first, size_t second,
                                   size_t rows, char *dst, size_t part) {
    const __mmask16 m0 = (__mmask16)((1u << first) - 1), m1 = (__mmask16)((1u << second) - 1);
    __mmask16 odd = 0;
    if (second == 0) gap = 0;
    if (first == 16 && second == 16) {
        for (size_t i = 0; i < rows; i++, x += row, dst += NACRE_AMX_LINE) {
            odd |= nacre_parts_split(parts, _mm512_loadu_ps(x), _mm512_loadu_ps(x + gap), dst, part);
        }
        return odd != 0;
    }
    for (size_t i = 0; i < rows; i++, x += row, dst += NACRE_AMX_LINE) {
        odd |= nacre_parts_split(parts, _mm512_maskz_loadu_ps(m0, x), _mm512_maskz_loadu_ps(m1, x + gap), dst, part);
    }
    return odd != 0;
}

// nacre_parts_right splits k numbers of each of n <= 32 columns for a right operand. Number p of
// column j is x[p*row + j]. It returns whether a number has no parts.
NACRE_INLINE int nacre_parts_right(size_t parts, const float *x, size_t row, size_t k, size_t n, char *dst) {
    int odd = 0;
    for (size_t p = 0; p < k; p += NACRE_PARTS_DEPTH, x += NACRE_PARTS_DEPTH * row, dst += parts * NACRE_PARTS_RIGHT) {
        const size_t there = nacre_min(k - p, NACRE_PARTS_DEPTH), both = there > 16 ? there - 16 : 0,
            one = nacre_min(there, 16);
        for (size_t j = 0; j < n; j += 16) {
            const size_t columns = nacre_min(n - j, 16);
            char *const to = dst + j / 16 * NACRE_AMX_BYTES;
            odd |= nacre_parts_lines(parts, x + j, row, 16 * row, columns, columns, both, to, NACRE_PARTS_RIGHT);
            odd |= nacre_parts_lines(parts, x + j + both * row, row, 0, columns, 0, one - both,
                                     to + both * NACRE_AMX_LINE, NACRE_PARTS_RIGHT);
            for (size_t q = 0; q < parts && one < 16; q++) {
                memset(to + q * NACRE_PARTS_RIGHT + one * NACRE_AMX_LINE, 0, (16 - one) * NACRE_AMX_LINE);
            }
        }
    }
    return odd;
}

// nacre_parts_square is the computation of a square of sums, [32][32].
typedef struct {
    size_t a_parts, b_parts;  // parts per number of each operand
    size_t steps;
    const char *a;            // lines of row 0, step 0; other rows follow
    size_t a_part;            // bytes between parts
    const size_t *step;       // bytes from a to each step
    const char *b;            // [steps][b_parts][2] tiles
    size_t rows, columns;     // in use; with more than 16, both tiles
    float *sums;
    int add;                  // whether to add to sums, else store
    const char *next;         // rows of two lines each, to prefetch for a later call
    size_t next_row, next_rows;
} nacre_parts_square;

// NACRE_PARTS_SQUARE loads or stores tile (r, c) of the sums.
#define NACRE_PARTS_SQUARE(move, t, r, c) \
    NACRE_AMX_##move(t, x->sums + (r) * NACRE_AMX_ROWS * NACRE_PARTS_SIDE + (c) * NACRE_AMX_ROWS, NACRE_PARTS_SIDE * sizeof(float))

// NACRE_PARTS_MULTIPLY loads a tile of parts only if it is not loaded already, between products
// that do not need it.
#define NACRE_PARTS_LEFT(t, p, tile) NACRE_AMX_LOAD(t, a + (p) * x->a_part + (tile) * NACRE_AMX_BYTES, NACRE_AMX_LINE)
#define NACRE_PARTS_WEIGHTS(t, q, tile) NACRE_AMX_LOAD(t, b + (q) * NACRE_PARTS_RIGHT + (tile) * NACRE_AMX_BYTES, NACRE_AMX_LINE)
#define NACRE_PARTS_MULTIPLY(p, q)                                                       \
    if (p < a_parts && q < b_parts) {                                                    \
        const int left = a_at != p, right = b_at != q;                                   \
        if (left) NACRE_PARTS_LEFT(4, p, 0);                                             \
        if (right) NACRE_PARTS_WEIGHTS(6, q, 0);                                         \
        NACRE_AMX_BF16(0, 4, 6);                                                         \
        if (wide && right) NACRE_PARTS_WEIGHTS(7, q, 1);                                 \
        if (wide) NACRE_AMX_BF16(1, 4, 7);                                               \
        if (tall && left) NACRE_PARTS_LEFT(5, p, 1);                                     \
        if (tall) NACRE_AMX_BF16(2, 5, 6);                                               \
        if (wide && tall) NACRE_AMX_BF16(3, 5, 7);                                       \
        a_at = p;                                                                        \
        b_at = q;                                                                        \
    }

NACRE_INLINE void nacre_parts_multiply_of(int tall, int wide, size_t a_parts, size_t b_parts,
                                          const nacre_parts_square *x) {
    if (x->add) {
        NACRE_PARTS_SQUARE(LOAD, 0, 0, 0);
        if (wide) NACRE_PARTS_SQUARE(LOAD, 1, 0, 1);
        if (tall) NACRE_PARTS_SQUARE(LOAD, 2, 1, 0);
        if (wide && tall) NACRE_PARTS_SQUARE(LOAD, 3, 1, 1);
    } else {
        NACRE_AMX_ZERO(0);
        if (wide) NACRE_AMX_ZERO(1);
        if (tall) NACRE_AMX_ZERO(2);
        if (wide && tall) NACRE_AMX_ZERO(3);
    }
    const char *b = x->b, *next = x->next;
    const size_t rows = nacre_ceil_div(x->next_rows, x->steps + !x->steps);
    for (size_t s = 0; s < x->steps; s++, b += b_parts * NACRE_PARTS_RIGHT) {
        const char *const a = x->a + x->step[s];
        size_t a_at = NACRE_PARTS, b_at = NACRE_PARTS;
        for (size_t i = 0; i < rows; i++, next += x->next_row) {
            __builtin_prefetch(next, 0, 2);
            __builtin_prefetch(next + NACRE_AMX_LINE, 0, 2);
        }
        NACRE_PARTS_MULTIPLY(0, 2)
        NACRE_PARTS_MULTIPLY(0, 1)
        NACRE_PARTS_MULTIPLY(0, 0)
        NACRE_PARTS_MULTIPLY(2, 0)
        NACRE_PARTS_MULTIPLY(1, 0)
        NACRE_PARTS_MULTIPLY(1, 1)
    }
    NACRE_PARTS_SQUARE(STORE, 0, 0, 0);
    if (wide) NACRE_PARTS_SQUARE(STORE, 1, 0, 1);
    if (tall) NACRE_PARTS_SQUARE(STORE, 2, 1, 0);
    if (wide && tall) NACRE_PARTS_SQUARE(STORE, 3, 1, 1);
}

NACRE_INLINE void nacre_parts_multiply_by(size_t a_parts, size_t b_parts, const nacre_parts_square *x) {
    const int tall = x->rows > NACRE_AMX_ROWS, wide = x->columns > NACRE_AMX_ROWS;
    if (tall && wide) {
        nacre_parts_multiply_of(1, 1, a_parts, b_parts, x);
    } else if (tall) {
        nacre_parts_multiply_of(1, 0, a_parts, b_parts, x);
    } else if (wide) {
        nacre_parts_multiply_of(0, 1, a_parts, b_parts, x);
    } else {
        nacre_parts_multiply_of(0, 0, a_parts, b_parts, x);
    }
}

static void nacre_parts_multiply(const nacre_parts_square *x) {
    if (x->a_parts == NACRE_PARTS && x->b_parts == NACRE_PARTS) {
        nacre_parts_multiply_by(NACRE_PARTS, NACRE_PARTS, x);
    } else {
        nacre_parts_multiply_by(x->a_parts, x->b_parts, x);
    }
}

// nacre_parts_plain adds `count` products of a sum, computed with floats: of rows x + i*row with
// the numbers of each column at w + k*w_row.
static inline void nacre_parts_plain(const float *x, size_t row, size_t count, size_t rows, const float *w,
                                     size_t w_row, size_t columns, float *sums) {
    const __mmask16 m0 = (__mmask16)((1u << nacre_min(columns, 16)) - 1),
        m1 = (__mmask16)((1u << (columns > 16 ? columns - 16 : 0)) - 1);
    const size_t second = m1 == 0 ? 0 : 16;
    for (size_t i = 0; i < rows; i++, x += row, sums += NACRE_PARTS_SIDE) {
        __m512 a = _mm512_maskz_loadu_ps(m0, sums), b = _mm512_maskz_loadu_ps(m1, sums + second);
        const float *line = w;
        for (size_t k = 0; k < count; k++, line += w_row) {
            const __m512 v = _mm512_set1_ps(x[k]);
            a = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(m0, line), a);
            b = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(m1, line + second), b);
        }
        _mm512_mask_storeu_ps(sums, m0, a);
        _mm512_mask_storeu_ps(sums + second, m1, b);
    }
}

NACRE_TARGET_END

#endif
#endif
