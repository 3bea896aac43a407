// Target regions of 64-bit x86 and its intrinsics.
#ifndef NACRE_CORE_X86_H
#define NACRE_CORE_X86_H

#include "core/target.h"

#if NACRE_X86_64
#include <immintrin.h>
#endif

#endif
