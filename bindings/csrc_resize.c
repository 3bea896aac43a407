// The C files of csrc/resize, compiled here because cgo compiles only this folder.
#include "resize/resize.c"
#include "resize/deform_columns.c"
#include "resize/f32_resample.c"
#include "resize/f32_resample_scalar.c"
#include "resize/f32_resample_avx2.c"
#include "resize/f32_resample_avx512.c"
#include "resize/f32_resample_neon.c"
#include "resize/resample_nearest.c"
