// Helpers of units.inc.
#ifndef NACRE_RANDOM_UNITS_H
#define NACRE_RANDOM_UNITS_H

#include <string.h>

#include "core/simd.h"
#include "core/vec.h"
#include "random/random.h"

enum { RANDOM_PAIRS = NACRE_RANDOM_BLOCK / 2 };

// RANDOM_ROUND is a round of Philox on the counter c0..c3. It also sets the key of the next round.
#define RANDOM_ROUND                                                             \
    {                                                                            \
        const uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u; \
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;                                     \
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;                                     \
        c1 = (uint32_t)p1;                                                       \
        c3 = (uint32_t)p0;                                                       \
        k0 += 0x9E3779B9u;                                                       \
        k1 += 0xBB67AE85u;                                                       \
    }

NACRE_INLINE double random_of_bits(uint64_t u) {
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

NACRE_INLINE uint64_t random_bits(double d) {
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

// random_unit returns the upper 53 bits of two words as a number in [0,1). It puts 26 bits into the
// fraction of 1 and 27 bits into the fraction of 2^-26, and subtracts 1 and 2^-26 again.
NACRE_INLINE double random_unit(uint32_t high, uint32_t low) {
    const uint64_t v = ((uint64_t)high << 32 | low) >> 11;
    const double above = random_of_bits(0x3ff0000000000000u | v >> 27 << 26) - 1;
    const double below = random_of_bits(0x3e50000000000000u | (v & 0x7ffffff) << 25) - 0x1p-26;
    return above + below;
}

// random_log returns the logarithm of x in [2^-53, 1]. x is 2^e m, with m from sqrt(1/2) to
// sqrt(2). log m is 2 artanh(s), with s = (m - 1) / (m + 1).
NACRE_INLINE double random_log(double x) {
    const uint64_t root = 0x3fe6a09e667f3bcdu, from = random_bits(x) - root + ((uint64_t)1023 << 52);
    const double m = random_of_bits((from & 0xfffffffffffffu) + root);
    const double e = random_of_bits(0x4330000000000000u | from >> 52) - (0x1p52 + 1023);
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 23;
    sum = sum * z + 1.0 / 21;
    sum = sum * z + 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    return e * 0.69314718055994530942 + 2 * (s + s * (z * sum));
}

// random_root returns the square root of x from 0 to 100, as x * (1 / sqrt(x)), by Newton's steps
// from an estimate that halves the exponent. The library's sqrt sets errno, so that loops would
// stay scalar.
NACRE_INLINE double random_root(double x) {
    double y = random_of_bits(0x5fe6eb50c7b537a9u - (random_bits(x) >> 1));
    y = y * (1.5 - 0.5 * x * y * y);
    y = y * (1.5 - 0.5 * x * y * y);
    y = y * (1.5 - 0.5 * x * y * y);
    y = y * (1.5 - 0.5 * x * y * y);
    const double root = x * y;
    return root + 0.5 * y * (x - root * root);
}

typedef struct {
    double sine, cosine;
} random_turn;

// random_turn_of returns sine and cosine of 2 pi b for b in [0,1). It evaluates their series for
// the angle from the nearest quarter turn, at most an eighth of a turn.
NACRE_INLINE random_turn random_turn_of(double b) {
    const double quarter =
        (b >= 0.125 ? 1.0 : 0.0) + (b >= 0.375 ? 1.0 : 0.0) + (b >= 0.625 ? 1.0 : 0.0) + (b >= 0.875 ? 1.0 : 0.0);
    const double x = (b - quarter * 0.25) * 6.28318530717958647693, z = x * x;
    double sine = 1.0 / 355687428096000;
    sine = sine * z - 1.0 / 1307674368000;
    sine = sine * z + 1.0 / 6227020800;
    sine = sine * z - 1.0 / 39916800;
    sine = sine * z + 1.0 / 362880;
    sine = sine * z - 1.0 / 5040;
    sine = sine * z + 1.0 / 120;
    sine = sine * z - 1.0 / 6;
    sine = x + x * (z * sine);
    double cosine = 1.0 / 20922789888000;
    cosine = cosine * z - 1.0 / 87178291200;
    cosine = cosine * z + 1.0 / 479001600;
    cosine = cosine * z - 1.0 / 3628800;
    cosine = cosine * z + 1.0 / 40320;
    cosine = cosine * z - 1.0 / 720;
    cosine = cosine * z + 1.0 / 24;
    cosine = cosine * z - 0.5;
    cosine = 1 + z * cosine;
    const double odd = quarter == 1 || quarter == 3 ? 1 : 0;
    const double s = odd != 0 ? cosine : sine, c = odd != 0 ? sine : cosine;
    return (random_turn){quarter >= 2 && quarter <= 3 ? -s : s, quarter >= 1 && quarter <= 2 ? -c : c};
}

#endif
