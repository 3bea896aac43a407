// The bodies of the family for each level.
#include "resize/resize.h"

#define NACRE_BODY "resize/f32_resample.inc"
#define NACRE_NAME f32_resample
#include "core/each_level.h"
