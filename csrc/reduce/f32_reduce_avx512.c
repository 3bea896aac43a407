#include "core/vec_avx512.h"
#include "reduce/reduce.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define F nacre_avx512_f
#define LANES ((size_t)NACRE_AVX512_LANES)
#define LANES_N NACRE_AVX512_LANES
#define V(name) nacre_avx512_##name
#define K(name) f32_reduce_##name##_avx512

#include "reduce/f32_reduce.inc"

void nacre_f32_reduce__avx512(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op, float *out) {
    K(any)(x, rows, stride, cols, op, out);
}

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

NACRE_TARGET_END
#endif
