// The oracle of f32_quantize.
#include "core/vec.h"
#include "quant/quant.h"

#define OWN(name) f32_quantize_##name##_scalar
#include "quant/f32_quantize.inc"

const nacre_f32_quantize_impl *nacre_f32_quantize__scalar(void) { return &OWN(impl); }
#undef OWN
