#include "core/vec_neon.h"
#include "resize/resize.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_resample_##name##_neon

#include "resize/f32_resample.inc"

void nacre_f32_resample_cols__neon(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out) {
    K(cols)(x, stride, cols, r, j, out);
}

void nacre_f32_resample_row__neon(const float *x, const nacre_resampling *r, float *out) { K(row)(x, r, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
