#include <math.h>

#include "core/vec_neon.h"
#include "norm/norm.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_softmax_##name##_neon

#include "norm/f32_softmax.inc"

void nacre_f32_softmax__neon(const float *x, size_t n, size_t stride, size_t cols, bool log_, float *out) {
    K(any)(x, n, stride, cols, log_, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
