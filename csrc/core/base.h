// Intrinsics of the base instruction set: SSE2 or Advanced SIMD.
#ifndef NACRE_CORE_BASE_H
#define NACRE_CORE_BASE_H

#include "core/arm.h"
#include "core/target.h"

#if NACRE_X86_64
#include <emmintrin.h>
#endif

#endif
