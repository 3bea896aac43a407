// The levels for which bodies of kernels are compiled (core/each_level.h), best first. A level has
// a row in core/isa.inc and its vectors in core/vec_<level>.h.
#ifndef NACRE_CORE_LEVELS_H
#define NACRE_CORE_LEVELS_H

#include "core/target.h"

// NACRE_LEVELS expands to X(level, ...) for each level of this processor.
#if NACRE_X86_64
#define NACRE_LEVELS(X, ...) \
    X(avx512, __VA_ARGS__)   \
    X(avx2, __VA_ARGS__)
#elif NACRE_AARCH64
#define NACRE_LEVELS(X, ...) \
    X(neon, __VA_ARGS__)
#elif NACRE_SIMD128
#define NACRE_LEVELS(X, ...) \
    X(simd128, __VA_ARGS__)
#else
#define NACRE_LEVELS(X, ...)
#endif

// NACRE_LEVEL_KERNELS is a row of op for each level, with the function <function>__<level>.
#define NACRE_LEVEL_KERNELS(op, function, entry) NACRE_LEVELS(NACRE_LEVEL_KERNEL, op, function, entry)
#define NACRE_LEVEL_KERNEL(level, op, function, entry) NACRE_KERNEL(op, level, NACRE_ISA_##level, function##__##level, entry)

#endif
