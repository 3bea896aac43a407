#include "attention/attention.h"
#include "core/vec_neon.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_rotary_##name##_neon

#include "attention/f32_rotary.inc"

void nacre_f32_rotary__neon(const float *x, size_t n, const float *cos, const float *sin, bool interleaved, float *out) {
    if (interleaved) {
        K(pairs)(x, n, cos, sin, out);
    } else {
        K(halves)(x, n, cos, sin, out);
    }
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
