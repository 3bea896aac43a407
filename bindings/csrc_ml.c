// The C files of csrc/ml, compiled here because cgo compiles only this folder.
#include "ml/ml.c"
#include "ml/rbf.c"
#include "ml/forest.c"
#include "ml/descend_scalar.c"
#include "ml/f32_rbf_scalar.c"
#include "ml/f32_rbf_avx2.c"
#include "ml/f32_rbf_avx512.c"
#include "ml/f32_rbf_neon.c"
