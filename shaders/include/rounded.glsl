// ROUNDED rounds a float to the nearest T and back. Include it after types.glsl.
#ifndef ROUNDED_GLSL
#define ROUNDED_GLSL

#if defined(TYPE_BF16)
#define ROUNDED(x) float_of_bf16(bf16_bits(x))
#elif defined(TYPE_F16)
#define ROUNDED(x) rounded_f16(x)
#else
#define ROUNDED(x) (x)
#endif

#endif
