// The C files of csrc/half, compiled here because cgo compiles only this folder.
#include "half/half.c"
#include "half/half_avx2.c"
#include "half/half_avx512.c"
#include "half/half_neon.c"
#include "half/half_scalar.c"
