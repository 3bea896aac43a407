// The oracle of i8_pooling.
#include "core/vec.h"
#include "pool/pool.h"

#define K(name) i8_pooling_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "pool/i8_pooling.inc"
