#include "core/vec.h"
#include "eltwise/f32_math_avx512.h"
#include "rnn/rnn.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define VF __m512
#define LANES 16
#define V(name) v16_##name
#define SUFFIX avx512
#include "rnn/f32_rnn_cell.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

const nacre_f32_rnn_cell_impl *nacre_f32_rnn_cell__avx512(void) { return &f32_rnn_cell_impl_avx512; }

NACRE_TARGET_END
#endif
