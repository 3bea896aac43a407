// The C files of csrc/nbits, compiled here because cgo compiles only this folder.
#include "nbits/nbits.c"
#include "nbits/nbits_gemm.c"
#include "nbits/f32_nbits_scalar.c"
#include "nbits/f32_nbits_avx2.c"
#include "nbits/f32_nbits_avx512.c"
#include "nbits/f32_nbits_neon.c"
