// float32 in 4 lanes. The binary loops need no variant here: Advanced SIMD is
// part of the base instruction set, for which the scalar ones are compiled.
#include "core/target.h"
#if NACRE_AARCH64
#include "eltwise/eltwise.h"
#include "eltwise/f32_math_neon.h"

#define VF float32x4_t
#define LANES 4
#define V(name) v4_##name
#define SUFFIX neon
#include "eltwise/f32_unary.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX
#endif
