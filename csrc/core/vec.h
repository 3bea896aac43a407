// A vector of floats under one set of names per ISA, so that kernels whose
// instructions are the same everywhere are written once.
//
// vec_<isa>.h defines the type nacre_<isa>_f, its width NACRE_<ISA>_LANES, and
// these functions, each with the prefix nacre_<isa>_:
//     load store           lanes at p
//     load_n store_n       the first n < width lanes at p; load_n fills the others
//     keep(a)              a, in a register: compilers load it once, however often it is used
//     set1 add sub mul div sqrt abs
//     fma(a, b, c)         a * b + c, rounded once
//     max min              with a NaN in the first operand: the second
//     maxnan minnan        with a NaN in either operand: NaN
//     exp                  vexp_<isa>.h
//     even(a, b)           lanes 0, 2, 4, ... of a followed by b
//     odd(a, b)            lanes 1, 3, 5, ... of a followed by b
//     swap(a, d)           lane i becomes lane i ^ d; d a power of two below the width
//     first(a)             lane 0, a float
//     gather(p, index)     p[index[i]] for each lane, the indices int32_t
// A body is a .inc file that names them through the macros V(name), F, LANES (a
// size_t) and LANES_N (for lengths of arrays), and its own functions through
// K(name). The variant's file defines these, opens
// the target region, includes the body and undefines them.
#ifndef NACRE_CORE_VEC_H
#define NACRE_CORE_VEC_H

#include "core/target.h"

// For functions that a caller specialises by a constant argument.
#define NACRE_INLINE static inline __attribute__((always_inline, unused))

#endif
