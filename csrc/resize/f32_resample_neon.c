#include "core/vec_neon.h"
#include "resize/resize.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_resample_##name##_neon

#include "resize/f32_resample.inc"

const nacre_f32_resample_impl *nacre_f32_resample__neon(void) { return &K(impl); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
