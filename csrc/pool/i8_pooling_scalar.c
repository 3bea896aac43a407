// The oracle of i8_pooling.
#include "core/vec.h"
#include "pool/pool.h"

#define OWN(name) i8_pooling_##name##_scalar
#include "pool/i8_pooling.inc"

const nacre_i8_pooling_impl *nacre_i8_pooling__scalar(void) { return &OWN(impl); }
#undef OWN
