// Conversions between element types. float16 and bfloat16 convert to and from
// float32 only (half/half.h); nacre_eltwise_map joins two conversions.
#include "core/half.h"
#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"
#include "eltwise/types.h"

#define ROW(s, S, d, D, expr) NACRE_CONVERT_LOOP(nacre_##s##_to_##d##__scalar, S, D, expr)
#define NACRE_DTYPE(t, name, T, kind) \
    NACRE_CONVERSIONS(ROW, t, T, kind) \
    NACRE_CONVERT_LOOP(nacre_bool_to_##t##__scalar, uint8_t, T, x != 0)
#include "core/dtypes.inc"
#undef NACRE_DTYPE
#undef ROW

// Rounds to the neighbour with an odd last bit unless x is exact: rounding that
// again, to at most 22 bits, gives what rounding x once would.
static inline float nacre_narrow_odd(double x) {
    const float f = (float)x;
    if ((double)f == x || x != x) return f;
    const uint32_t bits = nacre_bits_of_float(f);
    return nacre_float_of_bits((fabs((double)f) > fabs(x) ? bits - 1 : bits) | 1);
}

NACRE_CONVERT_LOOP(nacre_f64_to_odd__scalar, double, float, nacre_narrow_odd(x))
