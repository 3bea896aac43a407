// The oracle of f32_quantize.
#include "core/vec.h"
#include "quant/quant.h"

#define K(name) f32_quantize_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "quant/f32_quantize.inc"
