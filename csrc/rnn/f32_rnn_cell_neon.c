#include "core/vec.h"
#include "eltwise/f32_math_neon.h"
#include "rnn/rnn.h"

#if NACRE_AARCH64

#define VF float32x4_t
#define LANES 4
#define V(name) v4_##name
#define SUFFIX neon
#include "rnn/f32_rnn_cell.inc"
#undef VF
#undef LANES
#undef V
#undef SUFFIX

const nacre_f32_rnn_cell_impl *nacre_f32_rnn_cell__neon(void) { return &f32_rnn_cell_impl_neon; }

#endif
