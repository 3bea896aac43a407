// The bodies of the family for each level.
#include <float.h>
#include <string.h>

#include "core/vec.h"
#include "quant/quant.h"
#include "quant/search.h"

#define NACRE_BODY "quant/f32_quantize.inc"
#define NACRE_NAME f32_quantize
#include "core/each_level.h"

#define NACRE_BODY "quant/f32_search.inc"
#define NACRE_NAME f32_search
#include "core/each_level.h"

#define NACRE_BODY "quant/f32_whole.inc"
#define NACRE_NAME f32_whole
#include "core/each_level.h"

#include "quant/i8_blocked_neon.inc"
#include "quant/quant_neon.inc"
#include "quant/quant_simd128.inc"
#include "quant/quant_x86.inc"

// These bodies compile here, so that the headers of intrinsics are read once.
#include "quant/i8_pack.inc"
#include "quant/i8_conv_blocked.inc"
