// Loops that compilers are to turn into vectors of the region's width, at any level of
// optimisation that inlines: -fopenmp-simd says that these pragmas are read.
#ifndef NACRE_CORE_SIMD_H
#define NACRE_CORE_SIMD_H

// NACRE_SIMD stands before a for loop whose iterations write no element that another
// one reads. NACRE_SIMD_SUM(s) and NACRE_SIMD_MAX(s) are for loops that do so but for
// adding to s, and for raising s.
#define NACRE_SIMD _Pragma("omp simd")
#define NACRE_SIMD_SUM(s) NACRE_SIMD_PRAGMA(omp simd reduction(+ : s))
#define NACRE_SIMD_MAX(s) NACRE_SIMD_PRAGMA(omp simd reduction(max : s))
#define NACRE_SIMD_PRAGMA(x) _Pragma(#x)

// A loop with a call or a branch may stay scalar, which is no reason to warn.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#endif
