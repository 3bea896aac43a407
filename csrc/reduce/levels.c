// Compiles the bodies of the family for each level.
#include "reduce/reduce.h"

#define NACRE_BODY "reduce/f32_reduce.inc"
#define NACRE_NAME f32_reduce
#include "core/each_level.h"

#define NACRE_BODY "reduce/f32_arg.inc"
#define NACRE_NAME f32_arg
#include "core/each_level.h"

#define NACRE_BODY "reduce/f32_scan.inc"
#define NACRE_NAME f32_scan
#include "core/each_level.h"

#define NACRE_BODY "reduce/f32_topk.inc"
#define NACRE_NAME f32_topk
#include "core/each_level.h"
