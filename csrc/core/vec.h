// A vector of floats with one set of names for all levels. Kernels with the same instructions on
// every level are then written once.
//
// vec_<level>.h defines the type nacre_<level>_f, its width NACRE_LANES_<level>, the target region
// NACRE_BEGIN_<level> and NACRE_END_<level>, and these functions, each with the prefix
// nacre_<level>_. The operators + - * / work on the type, too:
//     load store           lanes at p
//     load_f16 load_bf16   lanes of 16-bit floats at p, with their bits as uint16_t
//     load_i8              lanes of int8_t at p
//     load_n store_n       the first n < width lanes at p; load_n fills the others
//     keep(a)              a, in a register: compilers load it once, however often it is used
//     set1 add sub mul div sqrt abs
//     fma(a, b, c)         a * b + c, rounded once; simd128 has no such instruction, and rounds the
//                          product and the sum
//     fused(a, b, c)       fma(a, b, c) that is exact on every level if its value is a float
//     add_product(&c, a, b)  c = fma(a, b, c) in the register of c: compilers that choose
//                          another one run out of registers in loops of many sums
//     max min              with a NaN in the first operand: the second
//     maxnan minnan        with a NaN in either operand: NaN
//     neg rint floor ceil  of each lane; rint rounds ties to even
//     copysign(a, b)       a with the sign of b
//     once(a)              a, loaded once on levels where loads are as scarce as arithmetic
//     pick(m, a, b)        a in lanes where m is true, else b; m is an lt(a, b)
//     bits(m)              an unsigned with lane i of m, an lt(a, b), in bit i
//     ldexp(a, n)          a * 2^n for integers n, rounded once
//     split(x, &e)         m from sqrt(1/2) to sqrt(2), with x = m * 2^e; x > 0
//     exp exp_below fall   vexp_<level>.h; exp_below is exp up to 89; fall is exp up to 0, with
//                          0 for subnormal results
//     exp_scaled(a)        e^a * exp_scale() for a up to 44; the scale may avoid subnormal results
//     exp_coarse(a)        exp_scaled(a) with an error of up to 1 + |a| / 22 ULP
//     exp_minus(a)         e^-a with the same error; 0 from 104 on; below -88 overflow gives +Inf,
//                          or -Inf if |a| is very large; on levels of 16 lanes
//     power_below(x)       2^x for x up to 0; 0 below -125; NaN for NaN
//     even(a, b)           lanes 0, 2, 4, ... of a followed by b
//     odd(a, b)            lanes 1, 3, 5, ... of a followed by b
//     arrange(a, from)     lanes from[i] of a, numbers int32_t
//     swap(a, d)           lane i becomes lane i ^ d; d a power of two below the width
//     first(a)             lane 0, a float
//     sums(v)              lane i is the sum of the lanes of v[i], of as many vectors as lanes
//     gather(p, index)     p[index[i]] for each lane, the indices int32_t
// Doubles have a type nacre_<level>_d of half as many lanes, the operators, and
//     load_d store_d set1_d fma_d
// A body is a .inc file that core/each_level.h compiles for each level. It may use
//     F, LANES, LANES_N  the type; its width, a size_t; the width for lengths of arrays
//     V(name)            a function above
//     K(name)            a static name of its own
//     KERNEL(name)       nacre_<name>__<level>: a function of rows
#ifndef NACRE_CORE_VEC_H
#define NACRE_CORE_VEC_H

#include "core/target.h"

// NACRE_INLINE is for functions that a caller specialises by a constant argument.
#define NACRE_INLINE static inline __attribute__((always_inline, unused))

// nacre_none is an operand for adding nothing: x + -0 is x for every x. It is as long as two
// vectors of the widest level.
#define NACRE_NONE_8 -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f
static const float nacre_none[] __attribute__((unused)) = {NACRE_NONE_8, NACRE_NONE_8, NACRE_NONE_8, NACRE_NONE_8};
#undef NACRE_NONE_8

#endif
