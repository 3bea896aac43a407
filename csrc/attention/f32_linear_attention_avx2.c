#include "attention/attention.h"
#include "core/vec_avx2.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#define V(name) nacre_avx2_##name
#define K(name) f32_linear_attention_##name##_avx2

#include "attention/f32_linear_attention.inc"

void nacre_f32_linear_attention__avx2(const nacre_linear_attention_token *t, float *state, float *out) { K(token)(t, state, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
