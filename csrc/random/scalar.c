// The body for the base instruction set.
#include "random/units.h"

#define KERNEL(name) nacre_##name##__scalar
#include "random/units.inc"
