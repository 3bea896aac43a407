#include <math.h>

#include "core/vec_avx2.h"
#include "norm/norm.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#define V(name) nacre_avx2_##name
#define K(name) f32_softmax_##name##_avx2

#include "norm/f32_softmax.inc"

void nacre_f32_softmax__avx2(const float *x, size_t n, size_t stride, size_t cols, bool log_, float *out) {
    K(any)(x, n, stride, cols, log_, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
