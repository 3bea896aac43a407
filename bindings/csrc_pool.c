// The C files of csrc/pool, compiled here because cgo compiles only this folder.
#include "pool/pool.c"
#include "pool/f32_pooling_scalar.c"
#include "pool/f32_pooling_avx2.c"
#include "pool/f32_pooling_avx512.c"
#include "pool/f32_pooling_neon.c"
