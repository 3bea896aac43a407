#include "core/vec_neon.h"
#include "pool/pool.h"

#if NACRE_AARCH64

#define F nacre_neon_f
#define LANES ((size_t)NACRE_NEON_LANES)
#define LANES_N NACRE_NEON_LANES
#define V(name) nacre_neon_##name
#define K(name) f32_pooling_##name##_neon

#include "pool/f32_pooling.inc"

void nacre_f32_pooling_rows__neon(const float *const *rows, size_t count, bool max, bool fresh, size_t width, float *buf) {
    K(rows)(rows, count, max, fresh, width, buf);
}

void nacre_f32_pooling_cols__neon(const float *row, size_t n, const nacre_pooling_cols *p, float *out) { K(cols)(row, n, p, out); }

#undef F
#undef LANES
#undef LANES_N
#undef V
#undef K

#endif
