// Types, bounds and functions for each element type, for the expressions of ops.inc.
#ifndef NACRE_ELTWISE_TYPES_H
#define NACRE_ELTWISE_TYPES_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#include "core/half.h"

// The type in which sums and products of T are computed: for integers an unsigned one, with defined
// overflow, no narrower than int.
typedef float nacre_wrap_f32;
typedef double nacre_wrap_f64;
typedef uint32_t nacre_wrap_i8, nacre_wrap_i16, nacre_wrap_i32, nacre_wrap_u8, nacre_wrap_u16, nacre_wrap_u32;
typedef uint64_t nacre_wrap_i64, nacre_wrap_u64;

// The C library's name of a function on T.
#define nacre_library_f32(name) name##f
#define nacre_library_f64(name) name

#define NACRE_MAX_f32 FLT_MAX
#define NACRE_MAX_f64 DBL_MAX
#define NACRE_MAX_i8 INT8_MAX
#define NACRE_MAX_i16 INT16_MAX
#define NACRE_MAX_i32 INT32_MAX
#define NACRE_MAX_i64 INT64_MAX
#define NACRE_MAX_u8 UINT8_MAX
#define NACRE_MAX_u16 UINT16_MAX
#define NACRE_MAX_u32 UINT32_MAX
#define NACRE_MAX_u64 UINT64_MAX
#define NACRE_MIN_i8 INT8_MIN
#define NACRE_MIN_i16 INT16_MIN
#define NACRE_MIN_i32 INT32_MIN
#define NACRE_MIN_i64 INT64_MIN
#define NACRE_MIN_u8 0
#define NACRE_MIN_u16 0
#define NACRE_MIN_u32 0
#define NACRE_MIN_u64 0

// Returns x clamped to lo..hi, or hi if lo > hi; a NaN stays NaN.
#define NACRE_DTYPE(t, name, T, kind)                          \
    static inline T nacre_clip_##t(T x, T lo, T hi) {          \
        const T low = x < lo ? lo : x;                         \
        return low > hi ? hi : low;                            \
    }
#include "core/dtypes.inc"
#undef NACRE_DTYPE

// Returns the remainder with the sign of b, for b neither 0 nor -1.
static inline int64_t nacre_floor_mod(int64_t a, int64_t b) {
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t nacre_ipow(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    uint64_t power = 1;
    for (uint64_t square = (uint64_t)a; b != 0; b >>= 1, square *= square) {
        if (b & 1) power *= square;
    }
    return (int64_t)power;
}

// Rounds to the neighbour with an odd last bit unless x is exact. If the result is rounded again,
// to at most 22 bits, it equals x rounded once.
static inline float nacre_narrow_odd(double x) {
    const float f = (float)x;
    const uint32_t bits = nacre_bits_of_float(f);
    const double size = x < 0 ? -x : x, got = f < 0 ? -(double)f : (double)f;
    const uint32_t down = got > size, inexact = got < size || got > size;
    return nacre_float_of_bits((bits - down) | inexact);
}

// Conversions by the kinds of source and destination. Integers keep their low bits. Floats out of
// an integer's range give its nearest value, and a NaN gives 0.
#define NACRE_FROM_FLOAT_TO_FLOAT(s, S, d, D) (D) x
#define NACRE_FROM_SIGNED_TO_FLOAT(s, S, d, D) (D) x
#define NACRE_FROM_SIGNED_TO_SIGNED(s, S, d, D) (D) x
#define NACRE_FROM_SIGNED_TO_UNSIGNED(s, S, d, D) (D) x
#define NACRE_FROM_UNSIGNED_TO_FLOAT(s, S, d, D) (D) x
#define NACRE_FROM_UNSIGNED_TO_SIGNED(s, S, d, D) (D) x
#define NACRE_FROM_UNSIGNED_TO_UNSIGNED(s, S, d, D) (D) x
#define NACRE_FROM_FLOAT_TO_SIGNED(s, S, d, D) NACRE_SATURATE(s, S, d, D)
#define NACRE_FROM_FLOAT_TO_UNSIGNED(s, S, d, D) NACRE_SATURATE(s, S, d, D)

// The first float past the range, a power of two and so exact in any float type, and the last float
// before it.
#define NACRE_PAST(S, d) ((S)(NACRE_MAX_##d / 2 + 1) * 2)
#define NACRE_LAST(S, d) (NACRE_PAST(S, d) * (1 - (sizeof(S) == 4 ? (S)FLT_EPSILON : (S)DBL_EPSILON) / 2))

// The intermediate integer type of a conversion to an integer: vector conversions give signed
// integers of a float's size.
#define NACRE_VIA_i8 int32_t
#define NACRE_VIA_i16 int32_t
#define NACRE_VIA_i32 int32_t
#define NACRE_VIA_i64 int64_t
#define NACRE_VIA_u8 int32_t
#define NACRE_VIA_u16 int32_t
#define NACRE_VIA_u32 int64_t
#define NACRE_VIA_u64 uint64_t

// Numbers are clamped to the range first, so that no lane of a vector branches. The last float
// before the end of the range may be below the greatest integer. If it is not, both ends are
// floats, and compilers have an instruction for each.
#define NACRE_MOVED(S, d) (x >= (S)NACRE_MIN_##d ? x < NACRE_PAST(S, d) ? x : NACRE_LAST(S, d) : (S)NACRE_MIN_##d)
#define NACRE_ENDS_FIT(S, d) ((NACRE_VIA_##d)NACRE_LAST(S, d) == NACRE_MAX_##d)
#define NACRE_SATURATE(s, S, d, D)                                                                                 \
    NACRE_ENDS_FIT(S, d) ? (D)(NACRE_VIA_##d)nacre_clip_##s(x != x ? 0 : x, (S)NACRE_MIN_##d, NACRE_LAST(S, d)) \
    : x >= NACRE_PAST(S, d) ? NACRE_MAX_##d                                                                        \
    : x != x                ? 0                                                                                    \
                            : (D)(NACRE_VIA_##d)(NACRE_MOVED(S, d))

// The kernel rows of conversions between floats and integers, with instructions that differ by
// level.
#define NACRE_CONVERSIONS_OF_FLOATS(ROW)                                \
    NACRE_CONVERSIONS(ROW, f32, float, FLOAT)                           \
    NACRE_CONVERSIONS(ROW, f64, double, FLOAT)                          \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, i8, int8_t)                        \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, i16, int16_t)                      \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, i32, int32_t)                      \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, i64, int64_t)                      \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, u8, uint8_t)                       \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, u16, uint16_t)                     \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, u32, uint32_t)                     \
    NACRE_CONVERSIONS_TO_FLOATS(ROW, u64, uint64_t)
#define NACRE_CONVERSIONS_TO_FLOATS(ROW, s, S) \
    ROW(s, S, f32, float, (float)x)            \
    ROW(s, S, f64, double, (double)x)

// The kernel rows of conversions from s to every type that C code computes on.
#define NACRE_CONVERSIONS(ROW, s, S, kind)                                 \
    ROW(s, S, f32, float, NACRE_FROM_##kind##_TO_FLOAT(s, S, f32, float))  \
    ROW(s, S, f64, double, NACRE_FROM_##kind##_TO_FLOAT(s, S, f64, double)) \
    ROW(s, S, i8, int8_t, NACRE_FROM_##kind##_TO_SIGNED(s, S, i8, int8_t)) \
    ROW(s, S, i16, int16_t, NACRE_FROM_##kind##_TO_SIGNED(s, S, i16, int16_t)) \
    ROW(s, S, i32, int32_t, NACRE_FROM_##kind##_TO_SIGNED(s, S, i32, int32_t)) \
    ROW(s, S, i64, int64_t, NACRE_FROM_##kind##_TO_SIGNED(s, S, i64, int64_t)) \
    ROW(s, S, u8, uint8_t, NACRE_FROM_##kind##_TO_UNSIGNED(s, S, u8, uint8_t)) \
    ROW(s, S, u16, uint16_t, NACRE_FROM_##kind##_TO_UNSIGNED(s, S, u16, uint16_t)) \
    ROW(s, S, u32, uint32_t, NACRE_FROM_##kind##_TO_UNSIGNED(s, S, u32, uint32_t)) \
    ROW(s, S, u64, uint64_t, NACRE_FROM_##kind##_TO_UNSIGNED(s, S, u64, uint64_t)) \
    ROW(s, S, bool, uint8_t, x != 0)

#endif
