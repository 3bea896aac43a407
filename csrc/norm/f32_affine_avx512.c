#include "core/vec_avx512.h"
#include "norm/norm.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_affine_##name##_avx512

#include "norm/f32_affine.inc"

void nacre_f32_moments__avx512(const float *x, size_t n, bool centred, float *mean, float *var) {
    K(moments)(x, n, centred, mean, var);
}

void nacre_f32_affine__avx512(const float *x, size_t n, float sub, float mul, float add, float *out) { K(all)(x, n, sub, mul, add, out); }

void nacre_f32_affine_each__avx512(const float *x, size_t n, float sub, float mul, const float *scale, const float *bias, float *out) {
    K(each)(x, n, sub, mul, scale, bias, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
