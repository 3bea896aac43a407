// Compiles the bodies of the family for each level.
#include <string.h>

#include "copy/copy.h"

#define NACRE_BODY "copy/f32_fold.inc"
#define NACRE_NAME f32_fold
#include "core/each_level.h"

#define NACRE_BODY "copy/range.inc"
#define NACRE_NAME range
#include "core/each_level.h"

// These bodies compile here, so that the headers of intrinsics are read once.
#include "copy/transpose_x86.inc"
