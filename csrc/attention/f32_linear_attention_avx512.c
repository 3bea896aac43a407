#include "attention/attention.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_linear_attention_##name##_avx512

#include "attention/f32_linear_attention.inc"

void nacre_f32_linear_attention__avx512(const nacre_linear_attention_token *t, float *state, float *out) { K(token)(t, state, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
