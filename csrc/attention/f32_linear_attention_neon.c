#include "attention/attention.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_linear_attention_##name##_neon

#include "attention/f32_linear_attention.inc"

void nacre_f32_linear_attention__neon(const nacre_linear_attention_token *t, float *state, float *out) { K(token)(t, state, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
