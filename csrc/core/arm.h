// Target regions and intrinsics of 64-bit ARM.
#ifndef NACRE_CORE_ARM_H
#define NACRE_CORE_ARM_H

#include "core/target.h"

#if NACRE_AARCH64
#include <arm_neon.h>
#endif

#endif
