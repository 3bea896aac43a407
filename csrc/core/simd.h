// Loops that compilers turn into vectors of the region's width, at any optimisation level that
// inlines. -fopenmp-simd enables these pragmas.
#ifndef NACRE_CORE_SIMD_H
#define NACRE_CORE_SIMD_H

// NACRE_SIMD precedes a for loop with independent iterations: none writes an element that another
// one reads. NACRE_SIMD_SUM(s) and NACRE_SIMD_MAX(s) also allow adding to s, and raising s.
#define NACRE_SIMD _Pragma("omp simd")
#define NACRE_SIMD_SUM(s) NACRE_SIMD_PRAGMA(omp simd reduction(+ : s))
#define NACRE_SIMD_MAX(s) NACRE_SIMD_PRAGMA(omp simd reduction(max : s))
#define NACRE_SIMD_PRAGMA(x) _Pragma(#x)

// A loop with a call or a branch may stay scalar. Do not warn about it.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#endif
