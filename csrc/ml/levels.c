// Compiles the bodies of the family for each level.
#include "ml/ml.h"

#define NACRE_BODY "ml/f32_rbf.inc"
#define NACRE_NAME f32_rbf
#include "core/each_level.h"
