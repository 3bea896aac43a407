// The C files of csrc/probe, compiled here because cgo compiles only this folder.
#include "probe/f32_fma_rate_avx2.c"
#include "probe/f32_fma_rate_avx512.c"
#include "probe/f32_fma_rate_neon.c"
#include "probe/f32_fma_rate_scalar.c"
#include "probe/probe.c"
