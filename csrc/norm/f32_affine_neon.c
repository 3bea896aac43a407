#include "core/vec_neon.h"
#include "norm/norm.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_affine_##name##_neon

#include "norm/f32_affine.inc"

void nacre_f32_moments__neon(const float *x, size_t n, bool centred, float *mean, float *var) {
    K(moments)(x, n, centred, mean, var);
}

void nacre_f32_affine__neon(const float *x, size_t n, float sub, float mul, float add, float *out) { K(all)(x, n, sub, mul, add, out); }

void nacre_f32_affine_each__neon(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias, float *out) {
    K(each)(x, n, sub, mul, scale, bias, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
