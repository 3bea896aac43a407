#include "core/vec_neon.h"
#include "pool/pool.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_pooling_##name##_neon

#include "pool/f32_pooling.inc"

const nacre_f32_pooling_impl *nacre_f32_pooling__neon(void) { return &K(impl); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
