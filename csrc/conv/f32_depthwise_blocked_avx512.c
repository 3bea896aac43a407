#include "conv/blocked.h"
#include "conv/space.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define V(name) nacre_avx512_##name
#define K(name) f32_depthwise_blocked_##name##_avx512

#include "conv/f32_depthwise_blocked.inc"

const nacre_f32_blocked_depthwise_impl *nacre_f32_depthwise_blocked__avx512(void) { return &K(impl); }

#undef F
#undef LANES
#undef V
#undef K

NACRE_TARGET_END
#endif
