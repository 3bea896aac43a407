#include "core/vec_neon.h"
#include "reduce/reduce.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_reduce_##name##_neon

#include "reduce/f32_reduce.inc"

void nacre_f32_reduce__neon(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op, float *out) {
    K(any)(x, rows, stride, cols, op, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
