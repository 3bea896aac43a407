#include "core/vec.h"
#include "pool/pool.h"

#if NACRE_X86_64
NACRE_TARGET_BEGIN(NACRE_AVX512)

#define OWN(name) i8_pooling_##name##_avx512
#include "pool/i8_pooling.inc"

const nacre_i8_pooling_impl *nacre_i8_pooling__avx512(void) { return &OWN(impl); }
#undef OWN

NACRE_TARGET_END
#endif
