// The element type of scales and of what codes stand for: S, SCALE(x) a float of it, and
// UNSCALE(x) the nearest S of a float. SCALE_F16 chooses float16, SCALE_BF16 bfloat16, else it
// is float32.
#ifndef SCALE_GLSL
#define SCALE_GLSL

#include "bits.glsl"

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

// v in a precision: 0 for float32, 1 for float16, 2 for bfloat16.
float in_precision(uint precision_, float v) {
    return precision_ == 1 ? rounded_f16(v) : precision_ == 2 ? float_of_bf16(bf16_bits(v)) : v;
}

// v / s: quotients of drivers may be a few units off, which decides ties; what they leave
// corrects them. Of large quotients the last bits do not count.
float quotient(float v, float s) {
    precise float q = v / s;
    if (magnitude(q) < 65536.0) {
        precise float left = fma(-q, s, v);
        precise float better = q + left / s;
        q = better;
    }
    return q;
}

// The quotient of numbers in a precision, in that.
float quotient_in(uint precision_, float v, float s) {
    return in_precision(precision_, quotient(in_precision(precision_, v), in_precision(precision_, s)));
}

// Which scale an element of [outer,axis,inner] has: blocks of elements along the axis share
// one.
uint scale_of(uint i, uvec2 extent, uint block, uvec3 step) {
    uint inner = i % extent.y, along = i / extent.y % extent.x, outer = i / extent.y / extent.x;
    return outer * step.x + along / block * step.y + inner * step.z;
}

#endif
