#include "core/vec_neon.h"
#include "quant/quant.h"

#if NACRE_AARCH64

#define OWN(name) f32_quantize_##name##_neon
#define V(name) nacre_neon_##name
#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#include "quant/f32_quantize.inc"

const nacre_f32_quantize_impl *nacre_f32_quantize__neon(void) { return &OWN(impl); }
#undef OWN
#undef V
#undef F
#undef LANES
#undef LANES_N

#endif
