// Target regions and intrinsics of 64-bit x86.
//
// With NACRE_EMULATED defined, AVX-512 is emulated in C and AVX2, and so are its extensions and AMX
// (core/half_vec.h, core/amx.h). Tests run their kernels on processors without them.
#ifndef NACRE_CORE_X86_H
#define NACRE_CORE_X86_H

#include "core/target.h"

#if NACRE_X86_64
#include <immintrin.h>
#ifdef NACRE_EMULATED
#include "core/avx512_emulated.h"
#endif
#endif

#endif
