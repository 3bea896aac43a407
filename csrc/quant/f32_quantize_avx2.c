#include "core/vec.h"
#include "quant/quant.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define OWN(name) f32_quantize_##name##_avx2
#include "quant/f32_quantize.inc"

const nacre_f32_quantize_impl *nacre_f32_quantize__avx2(void) { return &OWN(impl); }
#undef OWN

NACRE_TARGET_END
#endif
