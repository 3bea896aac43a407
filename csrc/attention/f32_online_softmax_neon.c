#include <math.h>

#include "attention/attention.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_online_softmax_##name##_neon

#include "attention/f32_online_softmax.inc"

float nacre_f32_online_softmax__neon(float *x, size_t n, float gain, const float *bias, float *top, float *sum) {
    return K(step)(x, n, gain, bias, top, sum);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
