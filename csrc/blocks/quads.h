// Words of four lanes, for packing. Compilers turn them into vectors of every base instruction set.
#ifndef NACRE_BLOCKS_QUADS_H
#define NACRE_BLOCKS_QUADS_H

#include <string.h>

#include "core/vec.h"

enum { QUAD = 4 };

// A word of each lane.
typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint8_t quad_bytes __attribute__((vector_size(16)));

// The blocks of four lanes.
typedef const uint8_t *quad_blocks[QUAD];

// QUAD_MIX(T, a, b, ...) is the elements of a followed by b at these indices.
#if defined(__clang__)
#define QUAD_MIX(T, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUAD_MIX(T, a, b, ...) __builtin_shuffle(a, b, (T){__VA_ARGS__})
#endif

#define QUAD_UNROLL NACRE_PRAGMA(GCC unroll 8)

// Sets q to 4 words of each block, from byte `at` on.
NACRE_INLINE void quad_load(const uint8_t *const *b, size_t at, quad *q) {
    quad r[QUAD];
    QUAD_UNROLL for (size_t l = 0; l < QUAD; l++) memcpy(&r[l], b[l] + at, sizeof r[l]);
    const quad low02 = QUAD_MIX(quad, r[0], r[2], 0, 4, 1, 5), low13 = QUAD_MIX(quad, r[1], r[3], 0, 4, 1, 5);
    const quad high02 = QUAD_MIX(quad, r[0], r[2], 2, 6, 3, 7), high13 = QUAD_MIX(quad, r[1], r[3], 2, 6, 3, 7);
    q[0] = QUAD_MIX(quad, low02, low13, 0, 4, 1, 5);
    q[1] = QUAD_MIX(quad, low02, low13, 2, 6, 3, 7);
    q[2] = QUAD_MIX(quad, high02, high13, 0, 4, 1, 5);
    q[3] = QUAD_MIX(quad, high02, high13, 2, 6, 3, 7);
}

// Returns the word of each block at byte `at`.
NACRE_INLINE quad quad_word(const uint8_t *const *b, size_t at) {
    uint32_t w[QUAD];
    QUAD_UNROLL for (size_t l = 0; l < QUAD; l++) memcpy(&w[l], b[l] + at, sizeof w[l]);
    return (quad){w[0], w[1], w[2], w[3]};
}

// Returns q with byte j of word l as byte l of word j.
NACRE_INLINE quad quad_turn(quad q) {
    QUAD_UNROLL for (int i = 0; i < 2; i++) {
        const quad_bytes low = (quad_bytes)q, high = (quad_bytes)QUAD_MIX(quad, q, q, 2, 3, 0, 1);
        q = (quad)QUAD_MIX(quad_bytes, low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    }
    return q;
}

// Exchanges the bits of words under mask and under mask << by.
NACRE_INLINE quad quad_exchange(quad q, int by, uint32_t mask) {
    const quad t = (q >> by ^ q) & mask;
    return q ^ t ^ t << by;
}

// Transposes 8/bits words as squares of parts of constant `bits` bits: part i of each byte of word
// j becomes part j of that byte of word i.
NACRE_INLINE void quad_transpose(quad *q, int bits) {
    const int pairs = 4 / bits;
    QUAD_UNROLL for (int by = bits, apart = 1; by < 8; by *= 2, apart *= 2) {
        QUAD_UNROLL for (int i = 0; i < pairs; i++) {
            quad *const a = q + i / apart * 2 * apart + i % apart, *const b = a + apart;
            const quad t = (*a >> by ^ *b) & UINT32_MAX / ((1u << by) + 1);
            *a ^= t << by;
            *b ^= t;
        }
    }
}

// Returns the lowest `bits` bits of each byte of n words, the first word's in the lowest bits.
NACRE_INLINE quad quad_join(const quad *q, size_t n, int bits) {
    quad to = {0};
    QUAD_UNROLL for (size_t i = 0; i < n; i++) to |= (q[i] & ((1u << bits) - 1) * 0x01010101u) << (int)i * bits;
    return to;
}

// The four lanes of a slab in which a quad is stored.
typedef struct {
    uint8_t *to;  // their first word
    size_t step;  // bytes from a word to the next one
} quad_words;

// Stores word i of the lanes.
NACRE_INLINE void quad_store(quad_words t, size_t i, quad q) { memcpy(t.to + i * t.step, &q, sizeof q); }

#endif
