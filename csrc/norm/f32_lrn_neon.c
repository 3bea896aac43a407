#include <math.h>

#include "core/vec_neon.h"
#include "norm/norm.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_lrn_##name##_neon

#include "norm/f32_lrn.inc"

void nacre_f32_lrn__neon(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p, float *out) {
    K(any)(x, channels, stride, cols, p, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
