// The bodies of the family for each level.
#include "eltwise/eltwise.h"
#include "eltwise/f32_math.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"

#define NACRE_BODY "eltwise/f32_unary.inc"
#define NACRE_NAME f32_unary
#include "core/each_level.h"

// Advanced SIMD is part of the base instruction set, for which the scalar loops are
// compiled.
#if NACRE_X86_64
#define NACRE_BODY "eltwise/f32_binary.inc"
#define NACRE_NAME f32_binary
#include "core/each_level.h"
#endif
