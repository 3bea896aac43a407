// Intrinsics of the base instruction set: SSE2, Advanced SIMD or the vectors of WebAssembly.
#ifndef NACRE_CORE_BASE_H
#define NACRE_CORE_BASE_H

#include "core/arm.h"
#include "core/target.h"

#if NACRE_X86_64
#include <emmintrin.h>
#endif
#if NACRE_SIMD128
#include <wasm_simd128.h>
#endif

#endif
