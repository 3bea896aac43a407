#include <math.h>

#include "attention/attention.h"
#include "core/vec_avx2.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#define V(name) nacre_avx2_##name
#define K(name) f32_online_softmax_##name##_avx2

#include "attention/f32_online_softmax.inc"

float nacre_f32_online_softmax__avx2(float *x, size_t n, float gain, const float *bias, float *top, float *sum) {
    return K(step)(x, n, gain, bias, top, sum);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
