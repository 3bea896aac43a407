// The bodies of narrow products for each level, and for the base instruction set.
#include "matmul/narrow.h"

#define NACRE_BODY "matmul/narrow.inc"
#define NACRE_NAME narrow
#include "core/each_level.h"

#define K(name) narrow_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "matmul/narrow.inc"
