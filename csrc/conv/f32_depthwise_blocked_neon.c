#include "conv/blocked.h"
#include "conv/space.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define V(name) nacre_neon_##name
#define K(name) f32_depthwise_blocked_##name##_neon

#include "conv/f32_depthwise_blocked.inc"

const nacre_f32_blocked_depthwise_impl *nacre_f32_depthwise_blocked__neon(void) { return &K(impl); }

#undef F
#undef LANES
#undef V
#undef K

#endif
