#include "core/vec.h"
#include "pool/pool.h"

#if NACRE_AARCH64

#define OWN(name) i8_pooling_##name##_neon
#include "pool/i8_pooling.inc"

const nacre_i8_pooling_impl *nacre_i8_pooling__neon(void) { return &OWN(impl); }
#undef OWN

#endif
