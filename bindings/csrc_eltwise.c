// The C files of csrc/eltwise, compiled here because cgo compiles only this folder.
#include "eltwise/binary_scalar.c"
#include "eltwise/convert_scalar.c"
#include "eltwise/unary_scalar.c"
#include "eltwise/where_scalar.c"
#include "eltwise/f32_avx2.c"
#include "eltwise/f32_avx512.c"
#include "eltwise/f32_neon.c"
#include "eltwise/eltwise.c"
