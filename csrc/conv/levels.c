// The bodies of the family for each level.
#include "conv/blocked.h"
#include "conv/conv.h"
#include "conv/space.h"
#include "core/vec.h"

#define NACRE_BODY "conv/f32_depthwise.inc"
#define NACRE_NAME f32_depthwise
#include "core/each_level.h"

#define NACRE_BODY "conv/f32_depthwise_blocked.inc"
#define NACRE_NAME f32_depthwise_blocked
#include "core/each_level.h"
