// Unary functions for every type; for float32 the oracle of the vector variants.
#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"

#define SAME(t, T, name, expr) NACRE_UNARY_LOOP(nacre_##t##_##name##__scalar, T, T, expr)
#define TEST(t, T, name, expr) NACRE_UNARY_LOOP(nacre_##t##_##name##__scalar, T, uint8_t, expr)
#define NACRE_UNARY_FLOAT(ROW, t, T)   \
    NACRE_UNARY_FLOAT_VECTOR(ROW, t, T) \
    NACRE_UNARY_FLOAT_LIBRARY(ROW, t, T) \
    NACRE_UNARY_FLOAT_TEST(TEST, t, T)
#define NACRE_DTYPE(t, name, T, kind) NACRE_UNARY_##kind(SAME, t, T)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
NACRE_UNARY_BITS(SAME, u8, uint8_t)
NACRE_UNARY_BITS(SAME, u16, uint16_t)
NACRE_UNARY_BITS(SAME, u32, uint32_t)
NACRE_UNARY_BITS(SAME, u64, uint64_t)
NACRE_UNARY_LOGIC(TEST, bool, uint8_t)
#undef NACRE_UNARY_FLOAT
#undef SAME
#undef TEST
