// Random numbers: streams in which each number follows from a key and its position, so that they
// can be computed in any order.
//
// Numbers 2i and 2i + 1 of a stream are computed from counter i under the key by Philox 4x32-10 (J.
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). Each takes two 32-bit words
// of the result, high word first. The upper 53 bits are a number u in [0,1).
#ifndef NACRE_RANDOM_RANDOM_H
#define NACRE_RANDOM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

// nacre_random_storage describes elements in memory: bytes per element, and up to two rows of
// csrc/eltwise that convert between them and float64, one after the other. A row is 0 if it is left
// out.
typedef struct {
    int64_t bytes, first, later;
} nacre_random_storage;

// Op random_fill, operand y: y[i] = low + (high - low) * u[i] for i < n. If normal is set, y[i] =
// low + high * g[i]. g is a stream of normally distributed numbers with mean 0 and deviation 1. Two
// of them are computed from two of u (G. Box and M. Muller, 1958):
//     g[2i] = r * cos(2 pi u[2i + 1]), g[2i + 1] = r * sin(2 pi u[2i + 1]),
//     r = sqrt(-2 log(1 - u[2i]))
typedef struct {
    int64_t n, key, normal;
    double low, high;  // or mean, deviation
    nacre_random_storage y;
} nacre_random_fill_words;

// Op random_bernoulli, operands x, y: y[i] is 1 if u[i] < x[i], else 0, for i < n.
typedef struct {
    int64_t n, key;
    nacre_random_storage x, y;
} nacre_random_bernoulli_words;

// NACRE_RANDOM_BLOCK is the number of values that one call computes.
enum { NACRE_RANDOM_BLOCK = 256 };

// out[i] = u[first + i] or g[first + i] for i < NACRE_RANDOM_BLOCK. first is even. All variants
// give the same bits.
typedef void nacre_random_units_fn(uint64_t key, uint64_t first, int normal, double *out);

const nacre_kernel *nacre_random_kernels(size_t *count);

#endif
