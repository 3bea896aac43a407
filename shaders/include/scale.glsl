// S is the element type of scales and of decoded numbers: float16 with SCALE_F16, bfloat16 with
// SCALE_BF16, otherwise float32. SCALE(x) converts an S to float, and UNSCALE(x) a float to the
// nearest S.
#ifndef SCALE_GLSL
#define SCALE_GLSL

#include "bits.glsl"
#include "quotient.glsl"

#ifdef SCALE_F16
#extension GL_EXT_shader_16bit_storage : require
#define S float16_t
#define SCALE(x) float(x)
#define UNSCALE(x) float16_t(rounded_f16(x))
#elif defined(SCALE_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define S uint16_t
#define SCALE(x) float_of_bf16(uint(x))
#define UNSCALE(x) uint16_t(bf16_bits(x))
#else
#define S float
#define SCALE(x) (x)
#define UNSCALE(x) (x)
#endif

// in_precision rounds v to float32 (0), float16 (1) or bfloat16 (2).
float in_precision(uint precision_, float v) {
    return precision_ == 1 ? rounded_f16(v) : precision_ == 2 ? float_of_bf16(bf16_bits(v)) : v;
}

// quotient_in rounds operands and quotient to a precision.
float quotient_in(uint precision_, float v, float s) {
    return in_precision(precision_, rounded_quotient(in_precision(precision_, v), in_precision(precision_, s)));
}

// scale_of returns the index of the scale of element i of [outer,axis,inner]. A block of elements
// along the axis shares a scale.
uint scale_of(uint i, uvec2 extent, uint block, uvec3 step) {
    uint inner = i % extent.y, along = i / extent.y % extent.x, outer = i / extent.y / extent.x;
    return outer * step.x + along / block * step.y + inner * step.z;
}

#endif
