#include <math.h>

#include "attention/attention.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_online_softmax_##name##_avx512

#include "attention/f32_online_softmax.inc"

float nacre_f32_online_softmax__avx512(float *x, size_t n, float gain, const float *bias, float *top, float *sum) {
    return K(step)(x, n, gain, bias, top, sum);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
