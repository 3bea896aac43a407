// The C files of csrc/reduce, compiled here because cgo compiles only this folder.
#include "reduce/reduce.c"
#include "reduce/f32_reduce.c"
#include "reduce/int_reduce.c"
#include "reduce/f32_reduce_scalar.c"
#include "reduce/f32_reduce_avx2.c"
#include "reduce/f32_reduce_avx512.c"
#include "reduce/f32_reduce_neon.c"
