// Compiles the bodies of the family for each level.
#include "random/units.h"

#define NACRE_BODY "random/units.inc"
#define NACRE_NAME random
#include "core/each_level.h"
