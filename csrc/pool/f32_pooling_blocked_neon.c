#include "core/vec_neon.h"
#include "pool/blocked.h"
#include "pool/taps.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define V(name) nacre_neon_##name
#define K(name) f32_pooling_blocked_##name##_neon

#include "pool/f32_pooling_blocked.inc"

const nacre_f32_blocked_pooling_impl *nacre_f32_pooling_blocked__neon(void) { return &K(impl); }

#undef F
#undef LANES
#undef V
#undef K

#endif
