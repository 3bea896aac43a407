// The conversions of 16-bit floats of every level of this processor. Functions are
// static, so that a family that has them as rows or as members needs no other.
#ifndef NACRE_HALF_HALF_LEVELS_H
#define NACRE_HALF_HALF_LEVELS_H

#include "half/half_avx2.h"
#include "half/half_avx512.h"
#include "half/half_neon.h"
#include "half/half_scalar.h"

#endif
