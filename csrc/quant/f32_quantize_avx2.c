#include "core/vec_avx2.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define OWN(name) f32_quantize_##name##_avx2
#define V(name) nacre_avx2_##name
#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#include "quant/f32_quantize.inc"

const nacre_f32_quantize_impl *nacre_f32_quantize__avx2(void) { return &OWN(impl); }
#undef OWN
#undef V
#undef F
#undef LANES
#undef LANES_N

NACRE_TARGET_END
#endif
