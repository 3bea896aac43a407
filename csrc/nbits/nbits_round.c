#include <string.h>

#include "nbits/nbits.h"

enum { NBITS_INFINITE = 0x7f800000 };

// Returns the largest magnitude of n floats as its bits. An infinity or a NaN is larger than any
// number.
static uint32_t nbits_largest(const float *a, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &a[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return most;
}

// Returns the scale of a block, and sets *by to the factor for its numbers.
static float nbits_scale_of(const float *a, size_t n, float *by) {
    const uint32_t most = nbits_largest(a, n);
    float largest;
    memcpy(&largest, &most, sizeof largest);
    *by = 0;
    if (most >= NBITS_INFINITE) return largest - largest;
    if (largest < 0x1p-110f) return 0;
    *by = 127 / largest;
    return largest / 127;
}

// Returns the nearest whole number to v, within 2^21, halves to even.
static int32_t nbits_nearest(float v) {
    const float shifted = v + 0x1.8p23f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4b400000;
}

void nacre_nbits_round(const nacre_nbits *w, size_t lanes, const float *a, uint8_t *x) {
    const size_t per = nacre_nbits_per_word(w), each = 8 / w->bits, step = lanes * 4, words = nacre_nbits_round_words(w, lanes);
    float scale = 0, by = 0;
    for (size_t word = 0; word < words; word++) {
        uint8_t *const at = x + word / lanes * lanes * (per + 8), *const q = at + word % lanes * 4;
        const size_t p0 = word * per, n = p0 >= w->k ? 0 : w->k - p0 < per ? w->k - p0 : per;
        if (p0 % w->block == 0 && n > 0) {
            const size_t left = w->k - p0;
            scale = nbits_scale_of(a + p0, nacre_min(left, w->block), &by);
        }
        int32_t sum = 0;
        for (size_t c = 0; c < per; c++) {
            const int32_t v = c < n && by != 0 ? nbits_nearest(a[p0 + c] * by) : 0;
            q[c % each * step + c / each] = (uint8_t)v;
            sum += v;
        }
        const int32_t start = -sum * (1 << (w->bits - 1));
        const float total = (float)sum, own = n > 0 ? scale : 0;
        uint8_t *const slots = at + lanes * per + word % lanes * 4;
        if (w->from == NACRE_NBITS_MIDDLE) {
            memcpy(slots, &start, sizeof start);
        } else {
            memcpy(slots, &total, sizeof total);
        }
        memcpy(slots + step, &own, sizeof own);
    }
}
