// float32 in 16 lanes.
#include "core/target.h"
#if NACRE_X86_64
#include "eltwise/eltwise.h"
#include "eltwise/f32_math_avx512.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"

NACRE_TARGET_BEGIN(NACRE_AVX512)

#define VF __m512
#define LANES 16
#define V(name) v16_##name
#define SUFFIX avx512
#include "eltwise/f32_unary.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

#define SAME(t, T, name, expr) NACRE_BINARY_LOOP(nacre_##t##_##name##__avx512, T, T, expr)
#define TEST(t, T, name, expr) NACRE_BINARY_LOOP(nacre_##t##_##name##__avx512, T, uint8_t, expr)
NACRE_ARITHMETIC(SAME, f32, float)
NACRE_KIND_FLOAT(SAME, f32, float)
NACRE_COMPARE(TEST, f32, float)
#undef SAME
#undef TEST

NACRE_TARGET_END
#endif
