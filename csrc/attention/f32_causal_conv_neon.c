#include "attention/attention.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_causal_conv_##name##_neon

#include "attention/f32_causal_conv.inc"

void nacre_f32_causal_conv__neon(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias, bool silu,
                               float *out) {
    K(line)(x, n, w, taps, step, bias, silu, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
