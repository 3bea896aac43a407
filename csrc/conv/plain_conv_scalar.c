// Convolutions by their formulas: the way for doubles, the oracle for floats.
#include "conv/conv.h"
#include "conv/space.h"

#define T float
#define OWN(name) plain_f32_##name
#define CONV nacre_f32_conv__scalar
#define CONV_TRANSPOSE nacre_f32_conv_transpose__scalar
#include "conv/plain_conv.inc"

#define T double
#define OWN(name) plain_f64_##name
#define CONV nacre_f64_conv__scalar
#define CONV_TRANSPOSE nacre_f64_conv_transpose__scalar
#include "conv/plain_conv.inc"
