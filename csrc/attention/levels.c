// The bodies of the family for each level.
#include <math.h>

#include "attention/attention.h"

#define NACRE_BODY "attention/f32_causal_conv.inc"
#define NACRE_NAME f32_causal_conv
#include "core/each_level.h"

#define NACRE_BODY "attention/f32_codes.inc"
#define NACRE_NAME f32_codes
#include "core/each_level.h"

#define NACRE_BODY "attention/f32_linear_attention.inc"
#define NACRE_NAME f32_linear_attention
#include "core/each_level.h"

#define NACRE_BODY "attention/f32_online_softmax.inc"
#define NACRE_NAME f32_online_softmax
#include "core/each_level.h"

#define NACRE_BODY "attention/f32_rotary.inc"
#define NACRE_NAME f32_rotary
#include "core/each_level.h"

// These bodies compile here, so that the headers of intrinsics are read once.
#include "attention/f32_attention_amx.inc"
