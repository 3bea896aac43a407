// The intrinsics of AVX-512 that kernels use, emulated in C and with two AVX2 vectors, for
// core/x86.h. If a kernel needs another one, add it here. Some compilers define intrinsics with
// immediate operands as macros, so each name is undefined first.
#ifndef NACRE_CORE_AVX512_EMULATED_H
#define NACRE_CORE_AVX512_EMULATED_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

NACRE_TARGET_BEGIN(NACRE_AVX2)

// EMULATED functions have an immediate operand, or few instructions. CALLED functions are not
// inlined, because compilers call them faster than they unroll them at every use.
#define EMULATED static inline __attribute__((always_inline, unused))
#define CALLED static __attribute__((noinline, unused))
#define EACH(n) for (int i = 0; i < (n); i++)

typedef union {
    __m512 ps;
    __m512d pd;
    __m512i si;
    __m256 ps2[2];
    __m256d pd2[2];
    __m256i si2[2];
    __m128i si4[4];
    float f32[16];
    double f64[8];
    int8_t i8[64];
    uint8_t u8[64];
    int16_t i16[32];
    uint16_t u16[32];
    int32_t i32[16];
    uint32_t u32[16];
    uint64_t u64[8];
} nacre_512;

// Functions that apply an AVX2 function to both halves. None of them moves elements between 128-bit
// lanes.
#define BOTH1(R, X, name, half)               \
    CALLED R nacre_512_##name(R a) {          \
        nacre_512 x = {.X = a};               \
        EACH(2) x.X##2[i] = half(x.X##2[i]);  \
        return x.X;                           \
    }
#define BOTH2(R, X, name, half)                          \
    CALLED R nacre_512_##name(R a, R b) {                \
        nacre_512 x = {.X = a}, y = {.X = b};            \
        EACH(2) x.X##2[i] = half(x.X##2[i], y.X##2[i]);  \
        return x.X;                                      \
    }
#define BOTH3(R, X, name, half)                                     \
    CALLED R nacre_512_##name(R a, R b, R c) {                      \
        nacre_512 x = {.X = a}, y = {.X = b}, z = {.X = c};         \
        EACH(2) x.X##2[i] = half(x.X##2[i], y.X##2[i], z.X##2[i]);  \
        return x.X;                                                 \
    }
BOTH2(__m512, ps, add_ps, _mm256_add_ps)
BOTH2(__m512, ps, sub_ps, _mm256_sub_ps)
BOTH2(__m512, ps, mul_ps, _mm256_mul_ps)
BOTH2(__m512, ps, div_ps, _mm256_div_ps)
BOTH2(__m512, ps, max_ps, _mm256_max_ps)
BOTH2(__m512, ps, min_ps, _mm256_min_ps)
BOTH2(__m512, ps, and_ps, _mm256_and_ps)
BOTH2(__m512, ps, or_ps, _mm256_or_ps)
BOTH2(__m512, ps, xor_ps, _mm256_xor_ps)
BOTH2(__m512, ps, unpacklo_ps, _mm256_unpacklo_ps)
BOTH2(__m512, ps, unpackhi_ps, _mm256_unpackhi_ps)
BOTH2(__m512d, pd, unpacklo_pd, _mm256_unpacklo_pd)
BOTH2(__m512d, pd, unpackhi_pd, _mm256_unpackhi_pd)
BOTH1(__m512, ps, sqrt_ps, _mm256_sqrt_ps)
BOTH3(__m512, ps, fmadd_ps, _mm256_fmadd_ps)
BOTH3(__m512, ps, fnmadd_ps, _mm256_fnmadd_ps)
BOTH3(__m512, ps, fnmsub_ps, _mm256_fnmsub_ps)
BOTH3(__m512d, pd, fmadd_pd, _mm256_fmadd_pd)
BOTH2(__m512i, si, and_si512, _mm256_and_si256)
BOTH2(__m512i, si, or_si512, _mm256_or_si256)
BOTH2(__m512i, si, xor_si512, _mm256_xor_si256)
BOTH2(__m512i, si, andnot_si512, _mm256_andnot_si256)
BOTH2(__m512i, si, add_epi32, _mm256_add_epi32)
BOTH2(__m512i, si, srlv_epi32, _mm256_srlv_epi32)
BOTH2(__m512i, si, srav_epi32, _mm256_srav_epi32)
BOTH2(__m512i, si, packs_epi32, _mm256_packs_epi32)
BOTH2(__m512i, si, packus_epi16, _mm256_packus_epi16)
BOTH2(__m512i, si, shuffle_epi8, _mm256_shuffle_epi8)
BOTH2(__m512i, si, unpacklo_epi16, _mm256_unpacklo_epi16)
BOTH2(__m512i, si, unpackhi_epi16, _mm256_unpackhi_epi16)
BOTH2(__m512i, si, unpacklo_epi32, _mm256_unpacklo_epi32)
BOTH2(__m512i, si, unpackhi_epi32, _mm256_unpackhi_epi32)
BOTH2(__m512i, si, unpacklo_epi64, _mm256_unpacklo_epi64)
BOTH2(__m512i, si, unpackhi_epi64, _mm256_unpackhi_epi64)
#undef BOTH1
#undef BOTH2
#undef BOTH3

// ---- per lane ----

// LANES1, LANES2 and COUNT set lane i of the result to expr, for i < n. The operands are a and b,
// or a and a count.
#define LANES1(name, R, RX, A, AX, n, lane, expr)  \
    CALLED R nacre_512_##name(A va) {              \
        const nacre_512 a = {.AX = va};            \
        nacre_512 y;                               \
        EACH(n) y.lane[i] = expr;                  \
        return y.RX;                               \
    }
#define LANES2(name, R, RX, n, lane, expr)               \
    CALLED R nacre_512_##name(R va, R vb) {              \
        const nacre_512 a = {.RX = va}, b = {.RX = vb};  \
        nacre_512 y;                                     \
        EACH(n) y.lane[i] = expr;                        \
        return y.RX;                                     \
    }
#define COUNT(name, n, lane, expr)                         \
    CALLED __m512i nacre_512_##name(__m512i va, int by) {  \
        const nacre_512 a = {.si = va};                    \
        nacre_512 y;                                       \
        EACH(n) y.lane[i] = expr;                          \
        return y.si;                                       \
    }
LANES1(abs_ps, __m512, ps, __m512, ps, 16, f32, fabsf(a.f32[i]))
LANES1(cvtepi32_ps, __m512, ps, __m512i, si, 16, f32, (float)a.i32[i])
LANES2(rolv_epi32, __m512i, si, 16, u32, a.u32[i] << b.u32[i] % 32 | a.u32[i] >> -b.u32[i] % 32)
LANES2(sllv_epi16, __m512i, si, 32, u16, (uint16_t)(b.u16[i] < 16 ? a.u16[i] << b.u16[i] : 0))
LANES2(srlv_epi16, __m512i, si, 32, u16, (uint16_t)(b.u16[i] < 16 ? a.u16[i] >> b.u16[i] : 0))
LANES2(permutexvar_epi32, __m512i, si, 16, u32, b.u32[a.u32[i] % 16])
COUNT(slli_epi32, 16, u32, by < 32 ? a.u32[i] << by : 0)
COUNT(srli_epi32, 16, u32, by < 32 ? a.u32[i] >> by : 0)
COUNT(slli_epi16, 32, u16, (uint16_t)(by < 16 ? a.u16[i] << by : 0))
COUNT(srli_epi16, 32, u16, (uint16_t)(by < 16 ? a.u16[i] >> by : 0))
#undef LANES1
#undef LANES2
#undef COUNT

CALLED __m512i nacre_512_cvtps_epi32(__m512 a) {
    nacre_512 x = {.ps = a};
    EACH(2) x.si2[i] = _mm256_cvtps_epi32(x.ps2[i]);
    return x.si;
}

CALLED __m512 nacre_512_cvtph_ps(__m256i a) {
    nacre_512 y;
    y.ps2[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(a));
    y.ps2[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
    return y.ps;
}

EMULATED __m256i nacre_512_cvtps_ph(__m512 a, const int how) {
    const nacre_512 x = {.ps = a};
    return _mm256_set_m128i(_mm256_cvtps_ph(x.ps2[1], how), _mm256_cvtps_ph(x.ps2[0], how));
}

CALLED __m512i nacre_512_cvtepu16_epi32(__m256i a) {
    nacre_512 y;
    y.si2[0] = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a));
    y.si2[1] = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1));
    return y.si;
}

CALLED __m512i nacre_512_cvtepu8_epi32(__m128i a) {
    nacre_512 y;
    y.si2[0] = _mm256_cvtepu8_epi32(a);
    y.si2[1] = _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8));
    return y.si;
}

CALLED __m512i nacre_512_cvtepi8_epi32(__m128i a) {
    nacre_512 y;
    y.si2[0] = _mm256_cvtepi8_epi32(a);
    y.si2[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8));
    return y.si;
}

CALLED __m128i nacre_512_cvtepi32_epi8(__m512i a) {
    const nacre_512 x = {.si = a};
    nacre_512 y;
    EACH(16) y.u8[i] = (uint8_t)x.u32[i];
    return y.si4[0];
}

EMULATED __m512 nacre_512_castsi512_ps(__m512i a) { return (__m512)a; }
EMULATED __m512i nacre_512_castps_si512(__m512 a) { return (__m512i)a; }
EMULATED __m512d nacre_512_castps_pd(__m512 a) { return (__m512d)a; }
EMULATED __m512 nacre_512_castpd_ps(__m512d a) { return (__m512)a; }
EMULATED float nacre_512_cvtss_f32(__m512 a) { return ((nacre_512){.ps = a}).f32[0]; }

EMULATED __m512 nacre_512_roundscale_ps(__m512 a, const int how) {
    nacre_512 x = {.ps = a};
    EACH(2) x.ps2[i] = _mm256_round_ps(x.ps2[i], how);
    return x.ps;
}

CALLED float nacre_512_scalef(float a, float n) {
    if (a != a && isinf(n)) return n > 0 ? n : 0;
    if (a != a || n != n) return a + n;
    return isinf(n) ? a * (n > 0 ? n : 0) : ldexpf(a, (int)fminf(fmaxf(floorf(n), -1000), 1000));
}

CALLED __m512 nacre_512_maskz_scalef_ps(__mmask16 m, __m512 a, __m512 n) {
    nacre_512 x = {.ps = a}, y = {.ps = n};
    EACH(16) x.f32[i] = m >> i & 1 ? nacre_512_scalef(x.f32[i], y.f32[i]) : 0;
    return x.ps;
}

EMULATED __m512 nacre_512_scalef_ps(__m512 a, __m512 n) { return nacre_512_maskz_scalef_ps(0xffff, a, n); }

// nacre_512_getmant_ps supports only the form in use: mantissas from 1 up, with the sign of the
// number.
CALLED __m512 nacre_512_getmant_ps(__m512 a, _MM_MANTISSA_NORM_ENUM from, _MM_MANTISSA_SIGN_ENUM sign) {
    (void)from, (void)sign;
    nacre_512 x = {.ps = a};
    EACH(16) {
        int e;
        const float v = x.f32[i];
        x.f32[i] = v != v ? v : v == 0 || isinf(v) ? copysignf(1, v) : 2 * frexpf(v, &e);
    }
    return x.ps;
}

CALLED __m512 nacre_512_getexp_ps(__m512 a) {
    nacre_512 x = {.ps = a};
    EACH(16) x.f32[i] = logbf(x.f32[i]);
    return x.ps;
}

// nacre_512_ternarylogic_epi32 looks each bit of the result up in a table of eight bits, by the
// bits of a, b and c.
CALLED __m512i nacre_512_ternarylogic_epi32(__m512i va, __m512i vb, __m512i vc, const int table) {
    const nacre_512 a = {.si = va}, b = {.si = vb}, c = {.si = vc};
    nacre_512 y;
    EACH(16) {
        y.u32[i] = 0;
        for (int k = 0; k < 8; k++) {
            if (table >> k & 1) {
                y.u32[i] |= (k & 4 ? a.u32[i] : ~a.u32[i]) & (k & 2 ? b.u32[i] : ~b.u32[i]) & (k & 1 ? c.u32[i]
                                                                                               : ~c.u32[i]);
            }
        }
    }
    return y.si;
}

// nacre_512_dpbusd_epi32 adds four products of an unsigned byte of a and a signed byte of b to each
// sum.
CALLED __m512i nacre_512_dpbusd_epi32(__m512i c, __m512i a, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    nacre_512 z = {.si = c};
    EACH(64) z.u32[i / 4] += (uint32_t)(x.u8[i] * y.i8[i]);
    return z.si;
}

// ---- masks ----

EMULATED __mmask16 nacre_512_cmp_ps_mask(__m512 a, __m512 b, const int how) {
    const nacre_512 x = {.ps = a}, y = {.ps = b};
    unsigned m = 0;
    EACH(2) m |= (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x.ps2[i], y.ps2[i], how)) << 8 * i;
    return (__mmask16)m;
}

CALLED __mmask16 nacre_512_cmpeq_epi32_mask(__m512i a, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    unsigned m = 0;
    EACH(16) m |= (unsigned)(x.u32[i] == y.u32[i]) << i;
    return (__mmask16)m;
}

CALLED __mmask16 nacre_512_test_epi32_mask(__m512i a, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    unsigned m = 0;
    EACH(16) m |= (unsigned)((x.u32[i] & y.u32[i]) != 0) << i;
    return (__mmask16)m;
}

CALLED __mmask32 nacre_512_test_epi16_mask(__m512i a, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    __mmask32 m = 0;
    EACH(32) m |= (__mmask32)((x.u16[i] & y.u16[i]) != 0) << i;
    return m;
}

CALLED __mmask32 nacre_512_movepi16_mask(__m512i a) {
    const nacre_512 x = {.si = a};
    __mmask32 m = 0;
    EACH(32) m |= (__mmask32)(x.i16[i] < 0) << i;
    return m;
}

// nacre_512_mask_blend_ps returns b in lanes with a mask bit of 1, else a.
CALLED __m512 nacre_512_mask_blend_ps(__mmask16 m, __m512 a, __m512 b) {
    const nacre_512 x = {.ps = a};
    nacre_512 y = {.ps = b};
    EACH(16) y.u32[i] = m >> i & 1 ? y.u32[i] : x.u32[i];
    return y.ps;
}

CALLED __m512i nacre_512_mask_blend_epi16(__mmask32 m, __m512i a, __m512i b) {
    const nacre_512 x = {.si = a};
    nacre_512 y = {.si = b};
    EACH(32) y.u16[i] = m >> i & 1 ? y.u16[i] : x.u16[i];
    return y.si;
}

#define MASKED(name)                                                                      \
    EMULATED __m512 nacre_512_mask_##name(__m512 old, __mmask16 m, __m512 a, __m512 b) {  \
        return nacre_512_mask_blend_ps(m, old, nacre_512_##name(a, b));                   \
    }
MASKED(add_ps)
MASKED(mul_ps)
MASKED(max_ps)
MASKED(min_ps)
#undef MASKED

// ---- between lanes ----

EMULATED __m512 nacre_512_permutexvar_ps(__m512i from, __m512 a) {
    return nacre_512_castsi512_ps(nacre_512_permutexvar_epi32(from, nacre_512_castps_si512(a)));
}

CALLED __m512 nacre_512_permutex2var_ps(__m512 a, __m512i from, __m512 b) {
    const nacre_512 x = {.ps = a}, y = {.ps = b}, f = {.si = from};
    nacre_512 z;
    EACH(16) z.u32[i] = (f.u32[i] & 16 ? y : x).u32[f.u32[i] % 16];
    return z.ps;
}

CALLED __m512i nacre_512_permutex2var_epi16(__m512i a, __m512i from, __m512i b) {
    const nacre_512 x = {.si = a}, y = {.si = b}, f = {.si = from};
    nacre_512 z;
    EACH(32) z.u16[i] = (f.u16[i] & 32 ? y : x).u16[f.u16[i] % 32];
    return z.si;
}

CALLED __m512 nacre_512_permute_ps(__m512 a, const int from) {
    const nacre_512 x = {.ps = a};
    nacre_512 y;
    EACH(16) y.u32[i] = x.u32[i / 4 * 4 + (from >> i % 4 * 2 & 3)];
    return y.ps;
}

// nacre_512_shuffle_i32x4 returns two quarters of a and two of b.
CALLED __m512i nacre_512_shuffle_i32x4(__m512i a, __m512i b, const int from) {
    const nacre_512 x = {.si = a}, y = {.si = b};
    nacre_512 z;
    EACH(4) z.si4[i] = (i < 2 ? x : y).si4[from >> 2 * i & 3];
    return z.si;
}

EMULATED __m512 nacre_512_shuffle_f32x4(__m512 a, __m512 b, const int from) {
    return nacre_512_castsi512_ps(nacre_512_shuffle_i32x4(nacre_512_castps_si512(a), nacre_512_castps_si512(b), from));
}

CALLED __m512i nacre_512_broadcast_i32x4(__m128i a) {
    nacre_512 y;
    EACH(4) y.si4[i] = a;
    return y.si;
}

// ---- constants ----

#define ALL(name, T, R, RX, n, lane)    \
    EMULATED R nacre_512_##name(T a) {  \
        nacre_512 y;                    \
        EACH(n) y.lane[i] = a;          \
        return y.RX;                    \
    }
ALL(set1_ps, float, __m512, ps, 16, f32)
ALL(set1_pd, double, __m512d, pd, 8, f64)
ALL(set1_epi8, char, __m512i, si, 64, i8)
ALL(set1_epi16, short, __m512i, si, 32, i16)
ALL(set1_epi32, int, __m512i, si, 16, i32)
#undef ALL
EMULATED __m512 nacre_512_setzero_ps(void) { return nacre_512_set1_ps(0); }
EMULATED __m512i nacre_512_setzero_si512(void) { return nacre_512_set1_epi32(0); }
#define nacre_512_setr_epi32(...) (((nacre_512){.i32 = {__VA_ARGS__}}).si)
#define nacre_512_setr_ps(...) (((nacre_512){.f32 = {__VA_ARGS__}}).ps)

// ---- memory ----

#define MEMORY(X, R)                                    \
    EMULATED R nacre_512_loadu_##X(const void *p) {     \
        R y;                                            \
        memcpy(&y, p, sizeof y);                        \
        return y;                                       \
    }                                                   \
    EMULATED void nacre_512_storeu_##X(void *p, R a) {  \
        memcpy(p, &a, sizeof a);                        \
    }
MEMORY(ps, __m512)
MEMORY(pd, __m512d)
MEMORY(si512, __m512i)
#undef MEMORY

// Memory of lanes with a mask bit of 0 is not accessed.
#define SOME(X, M, R, n, T)                                                       \
    CALLED R nacre_512_mask_loadu_##X(R old, M m, const void *p) {                \
        union {                                                                   \
            R v;                                                                  \
            T lane[n];                                                            \
        } y = {old};                                                              \
        EACH(n) if (m >> i & 1) memcpy(&y.lane[i], (const T *)p + i, sizeof(T));  \
        return y.v;                                                               \
    }                                                                             \
    CALLED R nacre_512_maskz_loadu_##X(M m, const void *p) {                      \
        static const T zero[n];                                                   \
        R old;                                                                    \
        memcpy(&old, zero, sizeof old);                                           \
        return nacre_512_mask_loadu_##X(old, m, p);                               \
    }                                                                             \
    CALLED void nacre_512_mask_storeu_##X(void *p, M m, R a) {                    \
        const union {                                                             \
            R v;                                                                  \
            T lane[n];                                                            \
        } x = {a};                                                                \
        EACH(n) if (m >> i & 1) memcpy((T *)p + i, &x.lane[i], sizeof(T));        \
    }
SOME(ps, __mmask16, __m512, 16, uint32_t)
SOME(epi8, __mmask64, __m512i, 64, uint8_t)
SOME(epi16, __mmask32, __m512i, 32, uint16_t)
SOME(half_epi16, __mmask16, __m256i, 16, uint16_t)
SOME(half_epi8, __mmask32, __m256i, 32, uint8_t)
#undef SOME

CALLED __m512i nacre_512_i32gather_epi32(__m512i index, const void *p, const int scale) {
    const nacre_512 x = {.si = index};
    nacre_512 y;
    EACH(16) memcpy(&y.u32[i], (const char *)p + (ptrdiff_t)x.i32[i] * scale, 4);
    return y.si;
}

EMULATED __m512 nacre_512_i32gather_ps(__m512i index, const void *p, const int scale) {
    return nacre_512_castsi512_ps(nacre_512_i32gather_epi32(index, p, scale));
}

CALLED __m512 nacre_512_mask_i32gather_ps(__m512 old, __mmask16 m, __m512i index, const void *p, const int scale) {
    const nacre_512 x = {.si = index};
    nacre_512 y = {.ps = old};
    EACH(16) if (m >> i & 1) memcpy(&y.u32[i], (const char *)p + (ptrdiff_t)x.i32[i] * scale, 4);
    return y.ps;
}

#undef EMULATED
#undef CALLED
#undef EACH

NACRE_TARGET_END

// ---- names ----

#undef _mm512_add_ps
#define _mm512_add_ps nacre_512_add_ps
#undef _mm512_sub_ps
#define _mm512_sub_ps nacre_512_sub_ps
#undef _mm512_mul_ps
#define _mm512_mul_ps nacre_512_mul_ps
#undef _mm512_div_ps
#define _mm512_div_ps nacre_512_div_ps
#undef _mm512_max_ps
#define _mm512_max_ps nacre_512_max_ps
#undef _mm512_min_ps
#define _mm512_min_ps nacre_512_min_ps
#undef _mm512_and_ps
#define _mm512_and_ps nacre_512_and_ps
#undef _mm512_or_ps
#define _mm512_or_ps nacre_512_or_ps
#undef _mm512_xor_ps
#define _mm512_xor_ps nacre_512_xor_ps
#undef _mm512_unpacklo_ps
#define _mm512_unpacklo_ps nacre_512_unpacklo_ps
#undef _mm512_unpackhi_ps
#define _mm512_unpackhi_ps nacre_512_unpackhi_ps
#undef _mm512_unpacklo_pd
#define _mm512_unpacklo_pd nacre_512_unpacklo_pd
#undef _mm512_unpackhi_pd
#define _mm512_unpackhi_pd nacre_512_unpackhi_pd
#undef _mm512_sqrt_ps
#define _mm512_sqrt_ps nacre_512_sqrt_ps
#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps nacre_512_fmadd_ps
#undef _mm512_fnmadd_ps
#define _mm512_fnmadd_ps nacre_512_fnmadd_ps
#undef _mm512_fnmsub_ps
#define _mm512_fnmsub_ps nacre_512_fnmsub_ps
#undef _mm512_fmadd_pd
#define _mm512_fmadd_pd nacre_512_fmadd_pd
#undef _mm512_and_si512
#define _mm512_and_si512 nacre_512_and_si512
#undef _mm512_or_si512
#define _mm512_or_si512 nacre_512_or_si512
#undef _mm512_xor_si512
#define _mm512_xor_si512 nacre_512_xor_si512
#undef _mm512_andnot_si512
#define _mm512_andnot_si512 nacre_512_andnot_si512
#undef _mm512_add_epi32
#define _mm512_add_epi32 nacre_512_add_epi32
#undef _mm512_srlv_epi32
#define _mm512_srlv_epi32 nacre_512_srlv_epi32
#undef _mm512_srav_epi32
#define _mm512_srav_epi32 nacre_512_srav_epi32
#undef _mm512_packs_epi32
#define _mm512_packs_epi32 nacre_512_packs_epi32
#undef _mm512_packus_epi16
#define _mm512_packus_epi16 nacre_512_packus_epi16
#undef _mm512_shuffle_epi8
#define _mm512_shuffle_epi8 nacre_512_shuffle_epi8
#undef _mm512_unpacklo_epi16
#define _mm512_unpacklo_epi16 nacre_512_unpacklo_epi16
#undef _mm512_unpackhi_epi16
#define _mm512_unpackhi_epi16 nacre_512_unpackhi_epi16
#undef _mm512_unpacklo_epi32
#define _mm512_unpacklo_epi32 nacre_512_unpacklo_epi32
#undef _mm512_unpackhi_epi32
#define _mm512_unpackhi_epi32 nacre_512_unpackhi_epi32
#undef _mm512_unpacklo_epi64
#define _mm512_unpacklo_epi64 nacre_512_unpacklo_epi64
#undef _mm512_unpackhi_epi64
#define _mm512_unpackhi_epi64 nacre_512_unpackhi_epi64
#undef _mm512_abs_ps
#define _mm512_abs_ps nacre_512_abs_ps
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps nacre_512_cvtepi32_ps
#undef _mm512_castsi512_ps
#define _mm512_castsi512_ps nacre_512_castsi512_ps
#undef _mm512_castps_si512
#define _mm512_castps_si512 nacre_512_castps_si512
#undef _mm512_castps_pd
#define _mm512_castps_pd nacre_512_castps_pd
#undef _mm512_castpd_ps
#define _mm512_castpd_ps nacre_512_castpd_ps
#undef _mm512_rolv_epi32
#define _mm512_rolv_epi32 nacre_512_rolv_epi32
#undef _mm512_sllv_epi16
#define _mm512_sllv_epi16 nacre_512_sllv_epi16
#undef _mm512_srlv_epi16
#define _mm512_srlv_epi16 nacre_512_srlv_epi16
#undef _mm512_permutexvar_epi32
#define _mm512_permutexvar_epi32 nacre_512_permutexvar_epi32
#undef _mm512_slli_epi32
#define _mm512_slli_epi32 nacre_512_slli_epi32
#undef _mm512_srli_epi32
#define _mm512_srli_epi32 nacre_512_srli_epi32
#undef _mm512_slli_epi16
#define _mm512_slli_epi16 nacre_512_slli_epi16
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 nacre_512_srli_epi16
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 nacre_512_cvtps_epi32
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps nacre_512_cvtph_ps
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph nacre_512_cvtps_ph
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32 nacre_512_cvtepu16_epi32
#undef _mm512_cvtepu8_epi32
#define _mm512_cvtepu8_epi32 nacre_512_cvtepu8_epi32
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32 nacre_512_cvtepi8_epi32
#undef _mm512_cvtepi32_epi8
#define _mm512_cvtepi32_epi8 nacre_512_cvtepi32_epi8
#undef _mm512_cvtss_f32
#define _mm512_cvtss_f32 nacre_512_cvtss_f32
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps nacre_512_roundscale_ps
#undef _mm512_maskz_scalef_ps
#define _mm512_maskz_scalef_ps nacre_512_maskz_scalef_ps
#undef _mm512_scalef_ps
#define _mm512_scalef_ps nacre_512_scalef_ps
#undef _mm512_getmant_ps
#define _mm512_getmant_ps nacre_512_getmant_ps
#undef _mm512_getexp_ps
#define _mm512_getexp_ps nacre_512_getexp_ps
#undef _mm512_ternarylogic_epi32
#define _mm512_ternarylogic_epi32 nacre_512_ternarylogic_epi32
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 nacre_512_dpbusd_epi32
#undef _mm512_cmp_ps_mask
#define _mm512_cmp_ps_mask nacre_512_cmp_ps_mask
#undef _mm512_cmpeq_epi32_mask
#define _mm512_cmpeq_epi32_mask nacre_512_cmpeq_epi32_mask
#undef _mm512_test_epi32_mask
#define _mm512_test_epi32_mask nacre_512_test_epi32_mask
#undef _mm512_test_epi16_mask
#define _mm512_test_epi16_mask nacre_512_test_epi16_mask
#undef _mm512_movepi16_mask
#define _mm512_movepi16_mask nacre_512_movepi16_mask
#undef _mm512_mask_blend_ps
#define _mm512_mask_blend_ps nacre_512_mask_blend_ps
#undef _mm512_mask_blend_epi16
#define _mm512_mask_blend_epi16 nacre_512_mask_blend_epi16
#undef _mm512_mask_add_ps
#define _mm512_mask_add_ps nacre_512_mask_add_ps
#undef _mm512_mask_mul_ps
#define _mm512_mask_mul_ps nacre_512_mask_mul_ps
#undef _mm512_mask_max_ps
#define _mm512_mask_max_ps nacre_512_mask_max_ps
#undef _mm512_mask_min_ps
#define _mm512_mask_min_ps nacre_512_mask_min_ps
#undef _mm512_permutexvar_ps
#define _mm512_permutexvar_ps nacre_512_permutexvar_ps
#undef _mm512_permutex2var_ps
#define _mm512_permutex2var_ps nacre_512_permutex2var_ps
#undef _mm512_permutex2var_epi16
#define _mm512_permutex2var_epi16 nacre_512_permutex2var_epi16
#undef _mm512_permute_ps
#define _mm512_permute_ps nacre_512_permute_ps
#undef _mm512_shuffle_i32x4
#define _mm512_shuffle_i32x4 nacre_512_shuffle_i32x4
#undef _mm512_shuffle_f32x4
#define _mm512_shuffle_f32x4 nacre_512_shuffle_f32x4
#undef _mm512_broadcast_i32x4
#define _mm512_broadcast_i32x4 nacre_512_broadcast_i32x4
#undef _mm512_set1_ps
#define _mm512_set1_ps nacre_512_set1_ps
#undef _mm512_set1_pd
#define _mm512_set1_pd nacre_512_set1_pd
#undef _mm512_set1_epi8
#define _mm512_set1_epi8 nacre_512_set1_epi8
#undef _mm512_set1_epi16
#define _mm512_set1_epi16 nacre_512_set1_epi16
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 nacre_512_set1_epi32
#undef _mm512_setzero_ps
#define _mm512_setzero_ps nacre_512_setzero_ps
#undef _mm512_setzero_si512
#define _mm512_setzero_si512 nacre_512_setzero_si512
#undef _mm512_setr_epi32
#define _mm512_setr_epi32 nacre_512_setr_epi32
#undef _mm512_setr_ps
#define _mm512_setr_ps nacre_512_setr_ps
#undef _mm512_loadu_ps
#define _mm512_loadu_ps nacre_512_loadu_ps
#undef _mm512_storeu_ps
#define _mm512_storeu_ps nacre_512_storeu_ps
#undef _mm512_loadu_pd
#define _mm512_loadu_pd nacre_512_loadu_pd
#undef _mm512_storeu_pd
#define _mm512_storeu_pd nacre_512_storeu_pd
#undef _mm512_loadu_si512
#define _mm512_loadu_si512 nacre_512_loadu_si512
#undef _mm512_storeu_si512
#define _mm512_storeu_si512 nacre_512_storeu_si512
#undef _mm512_mask_loadu_ps
#define _mm512_mask_loadu_ps nacre_512_mask_loadu_ps
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps nacre_512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps nacre_512_mask_storeu_ps
#undef _mm512_mask_loadu_epi8
#define _mm512_mask_loadu_epi8 nacre_512_mask_loadu_epi8
#undef _mm512_maskz_loadu_epi8
#define _mm512_maskz_loadu_epi8 nacre_512_maskz_loadu_epi8
#undef _mm512_mask_storeu_epi8
#define _mm512_mask_storeu_epi8 nacre_512_mask_storeu_epi8
#undef _mm512_mask_loadu_epi16
#define _mm512_mask_loadu_epi16 nacre_512_mask_loadu_epi16
#undef _mm512_maskz_loadu_epi16
#define _mm512_maskz_loadu_epi16 nacre_512_maskz_loadu_epi16
#undef _mm512_mask_storeu_epi16
#define _mm512_mask_storeu_epi16 nacre_512_mask_storeu_epi16
#undef _mm256_mask_loadu_epi16
#define _mm256_mask_loadu_epi16 nacre_512_mask_loadu_half_epi16
#undef _mm256_maskz_loadu_epi16
#define _mm256_maskz_loadu_epi16 nacre_512_maskz_loadu_half_epi16
#undef _mm256_mask_storeu_epi16
#define _mm256_mask_storeu_epi16 nacre_512_mask_storeu_half_epi16
#undef _mm256_mask_loadu_epi8
#define _mm256_mask_loadu_epi8 nacre_512_mask_loadu_half_epi8
#undef _mm256_maskz_loadu_epi8
#define _mm256_maskz_loadu_epi8 nacre_512_maskz_loadu_half_epi8
#undef _mm256_mask_storeu_epi8
#define _mm256_mask_storeu_epi8 nacre_512_mask_storeu_half_epi8
#undef _mm512_i32gather_epi32
#define _mm512_i32gather_epi32 nacre_512_i32gather_epi32
#undef _mm512_i32gather_ps
#define _mm512_i32gather_ps nacre_512_i32gather_ps
#undef _mm512_mask_i32gather_ps
#define _mm512_mask_i32gather_ps nacre_512_mask_i32gather_ps

#endif
