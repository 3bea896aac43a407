#include "core/vec_avx2.h"
#include "pool/blocked.h"
#include "pool/taps.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define V(name) nacre_avx2_##name
#define K(name) f32_pooling_blocked_##name##_avx2

#include "pool/f32_pooling_blocked.inc"

const nacre_f32_blocked_pooling_impl *nacre_f32_pooling_blocked__avx2(void) { return &K(impl); }

#undef F
#undef LANES
#undef V
#undef K

NACRE_TARGET_END
#endif
