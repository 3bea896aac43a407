// The element type of results, after types.glsl: R, and RESULT(x), the nearest R of a C.
// RESULT_F32, RESULT_F16 and RESULT_BF16 choose one of floats; else it is T.
#ifndef RESULT_GLSL
#define RESULT_GLSL

#if defined(RESULT_F32)
#define R float
#define RESULT(x) (x)
#elif defined(RESULT_F16)
#extension GL_EXT_shader_16bit_storage : require
#define R float16_t
#define RESULT(x) float16_t(rounded_f16(x))
#elif defined(RESULT_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define R uint16_t
#define RESULT(x) uint16_t(bf16_bits(x))
#else
#define R T
#define RESULT(x) STORE(x)
#endif

#endif
