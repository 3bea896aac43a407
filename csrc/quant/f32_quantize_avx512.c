#include "core/vec_avx512.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define OWN(name) f32_quantize_##name##_avx512
#define V(name) nacre_avx512_##name
#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#include "quant/f32_quantize.inc"

const nacre_f32_quantize_impl *nacre_f32_quantize__avx512(void) { return &OWN(impl); }
#undef OWN
#undef V
#undef F
#undef LANES
#undef LANES_N

NACRE_TARGET_END
#endif
