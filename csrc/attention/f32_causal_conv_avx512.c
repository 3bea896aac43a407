#include "attention/attention.h"
#include "core/vec_avx512.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_causal_conv_##name##_avx512

#include "attention/f32_causal_conv.inc"

void nacre_f32_causal_conv__avx512(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias, bool silu,
                               float *out) {
    K(line)(x, n, w, taps, step, bias, silu, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
