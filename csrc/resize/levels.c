// Compiles the bodies of the family for each level.
#include <math.h>
#include <string.h>

#include "core/simd.h"
#include "resize/resize.h"
#include "resize/taps.h"

typedef struct {
    uint64_t low, high;
} nearest_pair;

#define NACRE_BODY "resize/f32_resample.inc"
#define NACRE_NAME f32_resample
#include "core/each_level.h"

#define NACRE_BODY "resize/resample_nearest.inc"
#define NACRE_NAME resample_nearest
#include "core/each_level.h"

#define NACRE_BODY "resize/f32_affine_points.inc"
#define NACRE_NAME f32_affine_points
#include "core/each_level.h"

#define NACRE_BODY "resize/f32_taps.inc"
#define NACRE_NAME f32_taps
#include "core/each_level.h"
