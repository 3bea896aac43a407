#include "core/vec_avx512.h"
#include "resize/resize.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_resample_##name##_avx512

#include "resize/f32_resample.inc"

void nacre_f32_resample_cols__avx512(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out) {
    K(cols)(x, stride, cols, r, j, out);
}

void nacre_f32_resample_row__avx512(const float *x, const nacre_resampling *r, float *out) { K(row)(x, r, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
