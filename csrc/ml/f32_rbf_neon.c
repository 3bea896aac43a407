#include "core/vec_neon.h"
#include "ml/ml.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_rbf_##name##_neon

#include "ml/f32_rbf.inc"

void nacre_f32_rbf__neon(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out) {
    K(row)(x, v, n, stride, k, gamma, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
