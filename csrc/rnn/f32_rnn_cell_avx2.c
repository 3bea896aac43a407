#include "core/vec.h"
#include "eltwise/f32_math_avx2.h"
#include "rnn/rnn.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX2)

#define VF __m256
#define LANES 8
#define V(name) v8_##name
#define SUFFIX avx2
#include "rnn/f32_rnn_cell.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

const nacre_f32_rnn_cell_impl *nacre_f32_rnn_cell__avx2(void) { return &f32_rnn_cell_impl_avx2; }

NACRE_TARGET_END
#endif
