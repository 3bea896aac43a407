// Compiles the bodies of the family for each level.
#include <math.h>

#include "norm/norm.h"

#define NACRE_BODY "norm/f32_lrn.inc"
#define NACRE_NAME f32_lrn
#include "core/each_level.h"

#define NACRE_BODY "norm/f32_norm.inc"
#define NACRE_NAME f32_norm
#include "core/each_level.h"

#define NACRE_BODY "norm/f32_softmax.inc"
#define NACRE_NAME f32_softmax
#include "core/each_level.h"
