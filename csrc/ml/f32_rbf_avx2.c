#include "core/vec_avx2.h"
#include "ml/ml.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#define V(name) nacre_avx2_##name
#define K(name) f32_rbf_##name##_avx2

#include "ml/f32_rbf.inc"

void nacre_f32_rbf__avx2(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out) {
    K(row)(x, v, n, stride, k, gamma, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
