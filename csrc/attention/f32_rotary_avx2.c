#include "attention/attention.h"
#include "core/vec_avx2.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define F nacre_avx2_f
#define LANES ((size_t)NACRE_AVX2_LANES)
#define LANES_N NACRE_AVX2_LANES
#define V(name) nacre_avx2_##name
#define K(name) f32_rotary_##name##_avx2

#include "attention/f32_rotary.inc"

void nacre_f32_rotary__avx2(const float *x, size_t n, const float *cos, const float *sin, bool interleaved, float *out) {
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

NACRE_TARGET_END
#endif
