// The bodies of the family for each level.
#include <math.h>

#include "conv/blocked.h"
#include "conv/codes.h"
#include "conv/conv.h"
#include "conv/dense.h"
#include "conv/expand.h"
#include "conv/mask_x86.h"
#include "conv/space.h"
#include "conv/winograd.h"
#include "core/vec.h"

#define NACRE_BODY "conv/f32_depthwise.inc"
#define NACRE_NAME f32_depthwise
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_depthwise_blocked.inc"
#define NACRE_NAME f32_depthwise_blocked
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_conv_blocked.inc"
#define NACRE_NAME f32_conv_blocked
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_conv_expand.inc"
#define NACRE_NAME f32_conv_expand
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_conv_weights.inc"
#define NACRE_NAME f32_conv_weights
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_winograd.inc"
#define NACRE_NAME f32_winograd
#include "core/each_level.h"

#if NACRE_X86_64
#define NACRE_BODY "conv/f32_im2col_x86.inc"
#define NACRE_NAME f32_im2col
#include "core/each_level.h"
#endif

// These bodies compile here, so that the headers of intrinsics are read once.
#include "conv/f32_conv_amx.inc"
