// A vector of floats under one set of names per ISA, so that kernels whose
// instructions are the same everywhere are written once.
//
// vec_<level>.h defines the type nacre_<level>_f, its width NACRE_LANES_<level>, the
// target region NACRE_BEGIN_<level> and NACRE_END_<level>, and these functions, each
// with the prefix nacre_<level>_; the operators + - * / work on the type, too:
//     load store           lanes at p
//     load_f16 load_bf16   lanes of 16-bit floats at p, whose bits are uint16_t
//     load_n store_n       the first n < width lanes at p; load_n fills the others
//     keep(a)              a, in a register: compilers load it once, however often it is used
//     set1 add sub mul div sqrt abs
//     fma(a, b, c)         a * b + c, rounded once
//     add_product(&c, a, b)  c = fma(a, b, c) in the register where c is: compilers that are free
//                          to choose others run out of them in loops of many sums
//     max min              with a NaN in the first operand: the second
//     maxnan minnan        with a NaN in either operand: NaN
//     neg rint floor ceil  of each lane; rint rounds halves to even
//     copysign(a, b)       a with the sign of b
//     once(a)              a, which is loaded once where loads are as scarce as what is done with it
//     pick(m, a, b)        a in the lanes where m is true, b in others; m is an lt(a, b)
//     bits(m)              an unsigned whose bit i is lane i of m, an lt(a, b)
//     ldexp(a, n)          a * 2^n for integers n, rounded once
//     split(x, &e)         m from sqrt(1/2) to sqrt(2) where x = m * 2^e; x > 0
//     exp exp_below fall   vexp_<level>.h; exp_below is exp up to 89, and fall is exp up to 0, without
//                          subnormal numbers
//     exp_scaled(a)        e^a for a up to 44, times exp_scale(), which may make subnormal numbers normal
//     exp_coarse(a)        the same with an error of up to 1 + |a| / 22 ULP
//     exp_minus(a)         e^-a with that error, 0 from 104 on, and infinite or its opposite far below -88;
//                          on levels of 16 lanes
//     power_below(x)       2^x for x up to 0; 0 below -125; NaN for NaN
//     even(a, b)           lanes 0, 2, 4, ... of a followed by b
//     odd(a, b)            lanes 1, 3, 5, ... of a followed by b
//     arrange(a, from)     lanes from[i] of a, numbers int32_t
//     swap(a, d)           lane i becomes lane i ^ d; d a power of two below the width
//     first(a)             lane 0, a float
//     gather(p, index)     p[index[i]] for each lane, the indices int32_t
// Doubles have a type nacre_<level>_d of half as many lanes, the operators, and
//     load_d store_d set1_d fma_d
// A body is a .inc file that core/each_level.h compiles for each level. It finds
//     F, LANES, LANES_N  the type; its width, a size_t; the width for lengths of arrays
//     V(name)            a function above
//     K(name)            a name of its own: everything static
//     KERNEL(name)       nacre_<name>__<level>: a function of rows
#ifndef NACRE_CORE_VEC_H
#define NACRE_CORE_VEC_H

#include "core/target.h"

// For functions that a caller specialises by a constant argument.
#define NACRE_INLINE static inline __attribute__((always_inline, unused))

// What is added where there is nothing to add: x + -0 is x for every x. As long as two
// vectors of the widest level.
#define NACRE_NONE_8 -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f
static const float nacre_none[] __attribute__((unused)) = {NACRE_NONE_8, NACRE_NONE_8, NACRE_NONE_8, NACRE_NONE_8};
#undef NACRE_NONE_8

#endif
