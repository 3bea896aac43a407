// The conversions of 16-bit floats for every level of this processor. The functions are static, so
// that a family can use them without linking another one.
#ifndef NACRE_HALF_HALF_LEVELS_H
#define NACRE_HALF_HALF_LEVELS_H

#include "half/half_avx2.h"
#include "half/half_avx512.h"
#include "half/half_neon.h"
#include "half/half_scalar.h"
#include "half/half_simd128.h"

#endif
